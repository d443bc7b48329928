"""Tests of `gpudoctor fleet`."""
