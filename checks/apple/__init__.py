"""Checks of Macs: the Apple GPU through Metal (MPS)."""
