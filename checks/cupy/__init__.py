"""What keeps CuPy from the GPU."""
