"""Tests of gpudoctor.probes.python."""
