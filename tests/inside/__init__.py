"""Tests of gpudoctor.inside."""
