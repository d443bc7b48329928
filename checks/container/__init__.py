"""Checks of GPUs in containers, from the inside and on the host."""
