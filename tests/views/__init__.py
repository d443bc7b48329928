"""Tests of gpudoctor.views."""
