"""Tests of gpudoctor.probes.nvidia."""
