"""Tests of the engines of a fleet's run."""
