"""Checks of Intel's GPUs (XPU): kernel driver, render nodes, Level Zero, PyTorch's builds for them."""
