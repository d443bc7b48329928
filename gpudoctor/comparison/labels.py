"""What a place in the facts is called by people: "NVIDIA driver" for `nvidia.kernel.loaded`."""

import re

from gpudoctor.registry import BY_MODULE

# The first that fits the whole path holds; what a group matched stands in place of its number.
_LABELS: tuple[tuple[str, str], ...] = (
    (r"gpus", "GPUs"),
    (r"gpus\.([\d,-]+(?: at [\w:.]+)?)", "GPU {0}"),
    (r"gpus\.([\d,-]+)\.name", "GPU {0}"),
    (r"gpus\.([\d,-]+)\.(\w+)", "GPU {0}: {1}"),
    (r"pci\.(\w+ [\d,-]+(?: at [\w:.]+)?)", "PCI {0}"),
    (r"pci\.(\w+ [\d,-]+)\.(\w+)", "PCI {0}: {1}"),
    (r"nvidia\.nvml\.count", "GPUs that NVML lists"),
    (r"nvidia\.cuda\.devices\.([\d,-]+(?: at [\w:.]+)?)", "CUDA device {0}"),
    (r"nvidia\.cuda\.devices\.([\d,-]+)\.(\w+)", "CUDA device {0}: {1}"),
    (r"nvidia\.kernel\.loaded|machine\.driver", "NVIDIA driver"),
    (r"nvidia\.kernel\.flavor|machine\.driver_flavor", "NVIDIA driver: open or proprietary"),
    (r"nvidia\.kernel\.on_disk\.(.+)", "NVIDIA module for kernel {0}"),
    (r"nvidia\.kernel\.nodes\.(\S+?)(?:\.(\w+))?", "{0} {1}"),
    (r"nvidia\.kernel\.(?:parameters|options)\.(\w+)", "nvidia module parameter {0}"),
    (r"nvidia\.kernel\.persistence_daemon", "nvidia-persistenced"),
    (r"nvidia\.kernel\.power_daemon", "nvidia-powerd"),
    (r"nvidia\.kernel\.fabric_manager(?:_(\w+))?", "Fabric Manager {0}"),
    (r"nvidia\.kernel\.prime", "prime-select"),
    (r"nvidia\.kernel\.(\w+)", "nvidia module: {0}"),
    (r"nvidia\.nvml\.driver_version", "NVIDIA driver (NVML)"),
    (r"nvidia\.nvml\.text", "NVML: message"),
    (r"nvidia\.nvml\.(\w+)", "NVML: {0}"),
    (r"nvidia\.cuda\.version|machine\.driver_cuda", "CUDA version of the driver"),
    (r"nvidia\.cuda\.loaded", "libcuda in use"),
    (r"nvidia\.cuda\.name", "cuInit: result"),
    (r"nvidia\.cuda\.(\w+)", "cuInit: {0}"),
    (r"nvidia\.(?:cuda|nvml)\.libraries\.(.+?)(?:\.(version|size|path|kind))?", "{0} {1}"),
    (r"host\.kernel\.release|machine\.kernel", "kernel"),
    (r"host\.kernel\.(\w+)", "kernel: {0}"),
    (r"host\.distribution\.name|machine\.distribution", "distribution"),
    (r"host\.shm\.size", "/dev/shm"),
    (r"host\.memlock", "locked memory limit (ulimit -l)"),
    (r"host\.environment\.(\w+)", "{0}"),
    (r"host\.(\w+)", "host: {0}"),
    (r"log\.events\.(.+)", "kernel log: {0}"),
    (r"pythons\.1\.version", "Python"),
    (r"pythons\.(\d+)\.version", "Python {0}"),
    (r"pythons\.\d+\.packages\.([\w.-]+?)(?:\.version)?", "package {0}"),
    (r"pythons\.\d+\.frameworks\.([a-z]+)(?:\.version)?", "{framework}"),
    (r"pythons\.\d+\.frameworks\.([a-z]+)\.needs\.(.+?)(?:\.version)?", "{framework}: {1}"),
    (r"pythons\.\d+\.frameworks\.([a-z]+)\.live\.(cudnn|nccl|nvrtc)", "{framework}: {1} loaded"),
    (r"pythons\.\d+\.frameworks\.([a-z]+)\.(?:live\.)?(\w+)", "{framework}: {1}"),
    (r"smoke\.runs\.([^.]+)\.tests\.([^.]+)\.(?:figures|notes|during)\.(.+)", "{0}, {1}: {2}"),
    (r"smoke\.runs\.([^.]+)(?:\.(\w+))?", "{0} {1}"),
    (r"containers\.toolkit", "NVIDIA Container Toolkit"),
)
_FORMS = tuple((re.compile(form), label) for form, label in _LABELS)
# Fields that are not their own name with blanks.
_WORDS = {
    "archs": "compiled for",
    "available": "GPU usable",
    "bar1": "BAR1",
    "code": "return code",
    "count": "GPUs seen",
    "cuda": "CUDA build",
    "cudnn": "cuDNN",
    "ecc": "ECC",
    "error": "error",
    "hip": "HIP build",
    "link_generation": "PCIe generation",
    "link_generation_max": "PCIe generation (max)",
    "link_width": "PCIe lanes",
    "link_width_max": "PCIe lanes (max)",
    "mig": "MIG",
    "nccl": "NCCL",
    "numa_node": "NUMA node",
    "nvlinks": "NVLinks",
    "secure_boot": "Secure Boot",
    "sm_clock_max": "SM clock (max)",
    "variant": "build",
    "vbios": "VBIOS",
}


def label(path: str) -> str:
    """What people call a place, or the path itself where it has no other name.

    Args:
        path: of a `Difference`.
    """
    for form, text in _FORMS:
        if match := form.fullmatch(path):
            found = [_word(one or "") for one in match.groups()]
            framework = BY_MODULE[match[1]].title if "{framework}" in text and match[1] in BY_MODULE else None
            if "{framework}" in text and framework is None:
                return path
            return text.format(*found, framework=framework).strip().removesuffix(":")
    return path


def _word(name: str) -> str:
    return _WORDS.get(name) or (name.replace("_", " ") if name.islower() and "." not in name else name)
