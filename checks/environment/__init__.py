"""Checks of environment variables that slow programs down or break them."""
