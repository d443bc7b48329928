"""Paths of facts as people call them: `nvidia.kernel.loaded` is "driver (loaded)"."""

import re

_NAMES = {
    "host.architecture": "CPU architecture",
    "host.platform": "platform",
    "host.product": "machine model",
    "host.container": "container",
    "host.distribution.name": "distribution",
    "host.kernel.release": "kernel",
    "host.kernel.secure_boot": "Secure Boot",
    "host.memory": "memory",
    "host.cpus": "CPUs",
    "host.memlock": "memlock limit",
    "host.numa_balancing": "NUMA balancing",
    "host.selinux": "SELinux",
    "nvidia.kernel.loaded": "driver (loaded)",
    "nvidia.kernel.flavor": "driver flavor",
    "nvidia.kernel.fabric_manager": "Fabric Manager",
    "nvidia.kernel.fabric_manager_version": "Fabric Manager version",
    "nvidia.kernel.imex": "IMEX",
    "nvidia.kernel.persistence_daemon": "persistence daemon",
    "nvidia.nvml.driver_version": "driver (NVML)",
    "nvidia.nvml.confidential": "confidential computing",
    "nvidia.cuda.version": "CUDA version of the driver",
    "amd.rocm": "ROCm",
    "gpus": "number of GPUs",
    "gpus.*.name": "GPU model",
    "gpus.*.vbios": "VBIOS",
    "gpus.*.memory": "GPU memory",
    "gpus.*.link_generation_max": "PCIe generation (max)",
    "gpus.*.link_width_max": "PCIe lanes (max)",
    "gpus.*.link_width": "PCIe lanes",
    "gpus.*.ecc": "ECC",
    "gpus.*.mig": "MIG",
    "gpus.*.persistence": "persistence mode",
    "gpus.*.compute_mode": "compute mode",
    "gpus.*.power_limit": "power limit",
    "gpus.*.sm_clock_max": "SM clock (max)",
    "gpus.*.application_clock": "application clock",
    "gpus.*.fabric_state": "NVLink fabric state",
    "gpus.*.nvlinks": "NVLinks up",
    "packages": "Python",
}
_PACKAGE = re.compile(r"packages(?:\[(.+)\])?\.([A-Za-z0-9._-]+|\*)\Z")


def fact_name(path: str) -> str:
    """What people call a fact; the path itself where there is no such name."""
    if found := _PACKAGE.match(path):
        python, package = found.groups()
        return ("packages" if package == "*" else f"package {package}") + (f" ({python})" if python else "")
    first, more, others = path.partition(" and ")  # "gpus.*.vbios and 3 more facts"
    return _NAMES.get(first, first) + more + others
