"""PCIe links and NVLinks."""
