"""Checks of packages that were built for another framework or CUDA release than the installed one."""
