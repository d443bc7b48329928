"""Shared libraries of CUDA that come from the wrong place, twice, or not at all."""
