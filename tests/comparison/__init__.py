"""Tests of the comparison of two machines."""
