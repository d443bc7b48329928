"""Checks of gpudoctor's own tables against the machine."""
