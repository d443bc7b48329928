"""Checks of Macs: Apple's GPU through Metal (MPS)."""
