"""Checks of the variables that hide GPUs from programs."""
