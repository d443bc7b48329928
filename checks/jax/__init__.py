"""What keeps JAX from the GPU."""
