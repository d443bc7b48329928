"""Finds why a GPU does not work for machine learning, and says what to type to mend it."""

__version__ = "0.1.0"
