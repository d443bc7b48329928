"""Checks of Intel GPUs (XPU): kernel driver, render nodes, Level Zero, PyTorch's XPU builds."""
