"""Tests of how a fleet is told."""
