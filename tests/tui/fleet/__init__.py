"""Tests of the fleet place."""
