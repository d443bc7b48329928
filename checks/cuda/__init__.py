"""Checks of what building CUDA code and compiling kernels at run time need."""
