"""Checks of AMD's compute driver and of ROCm."""
