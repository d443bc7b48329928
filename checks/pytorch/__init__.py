"""What keeps PyTorch from the GPU."""
