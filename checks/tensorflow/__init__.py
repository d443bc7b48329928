"""What keeps TensorFlow from the GPU."""
