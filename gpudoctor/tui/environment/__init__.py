"""Pythons, frameworks, libraries, and every fact."""
