"""NVIDIA's driver and CUDA: kernel modules, libraries, NVML, toolkits."""
