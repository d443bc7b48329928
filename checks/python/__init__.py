"""What is wrong with the Python environment itself."""
