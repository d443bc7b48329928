"""The child that samples GPUs."""
