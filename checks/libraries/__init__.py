"""Checks of CUDA and ROCm shared libraries that come from the wrong place, twice, or not at all."""
