"""Runs a program as if gpudoctor were not there: `gpudoctor run -- COMMAND`."""
