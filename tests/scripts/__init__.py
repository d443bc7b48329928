"""Tests of what maintainers run."""
