"""Checks of AMD's compute driver and ROCm."""
