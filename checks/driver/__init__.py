"""NVIDIA's driver: module, libraries, device nodes, and what they report."""
