"""Tests of gpudoctor.probes."""
