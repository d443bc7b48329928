"""Packages that were built for another framework than the installed one."""
