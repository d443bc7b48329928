"""Checks of native Windows."""
