"""What keeps ONNX Runtime from the GPU."""
