"""Tests of the readers of file formats."""
