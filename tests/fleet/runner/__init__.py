"""Tests of how a fleet is asked."""
