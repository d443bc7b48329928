"""Checks of the Python environment itself."""
