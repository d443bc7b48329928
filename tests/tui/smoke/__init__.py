"""Tests of the place of the smoke tests."""
