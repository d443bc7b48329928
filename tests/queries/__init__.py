"""Tests of gpudoctor.queries."""
