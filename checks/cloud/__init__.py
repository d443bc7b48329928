"""Checks of rented machines: instance types of clouds and hosted notebooks."""
