"""This machine next to another."""
