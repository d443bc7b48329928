"""Tests of gpudoctor.workers."""
