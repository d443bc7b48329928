"""Tests of the place "diagnosis"."""
