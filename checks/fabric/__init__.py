"""NVSwitch boards: the fabric manager and GPUDirect RDMA."""
