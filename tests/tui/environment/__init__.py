"""Tests of the place Environment."""
