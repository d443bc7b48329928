"""Tests of the place Compare."""
