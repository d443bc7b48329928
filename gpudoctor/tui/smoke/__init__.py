"""Smoke tests, chosen and watched."""
