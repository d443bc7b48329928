"""libcuda by itself: memory, copies, streams and kernels that the driver compiles, without any CUDA toolkit."""
