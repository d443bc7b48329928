"""Facts for tests: healthy machines, and one thing changed at a time."""

from typing import Any

import msgspec

from gpudoctor.check_engine import Check, run
from gpudoctor.facts import (
    Cuda,
    CudaDevice,
    DeviceNode,
    Distribution,
    DriverLibrary,
    Facts,
    Framework,
    Gpu,
    Host,
    Kernel,
    KernelLog,
    LiveFramework,
    Nvidia,
    NvidiaKernel,
    Nvml,
    Package,
    PciDevice,
    Python,
)
from gpudoctor.maybe import text_of

UBUNTU = Distribution(id="ubuntu", like=("debian",), version="24.04", codename="noble", name="Ubuntu 24.04.3 LTS")
FEDORA = Distribution(id="fedora", like=(), version="42", codename=None, name="Fedora Linux 42")
VERSION = "570.169"


def ask(check: Check[Any], facts: Facts) -> list[tuple[str, str]]:
    """Outcome and sentence of a check on each of its subjects."""
    return [(verdict.outcome.value, verdict.message) for verdict in run(check, facts)]


def change(facts: Facts, path: str, value: object) -> Facts:
    """Give the facts with the thing at a path changed: "nvidia.kernel.loaded", or in a tuple "gpus.0.mig"."""
    return _replaced(facts, path.split("."), value)  # type: ignore[no-any-return]


def _replaced(node: Any, path: list[str], value: object) -> Any:
    if not path:
        return value
    head, rest = path[0], path[1:]
    if isinstance(node, tuple):
        index = int(head)
        return (*node[:index], _replaced(node[index], rest, value), *node[index + 1 :])
    if isinstance(node, dict):
        return {**node, head: _replaced(node.get(head), rest, value)}
    return msgspec.structs.replace(node, **{head: _replaced(getattr(node, head), rest, value)})


def host(**changes: Any) -> Host:
    """An ordinary Ubuntu machine."""
    kernel = Kernel(
        release="6.8.0-60-generic",
        compiler="gcc 12.3.0",
        command_line="quiet splash",
        lockdown="none",
        secure_boot=False,
        headers=True,
        reboot_required=False,
    )
    plain: dict[str, Any] = {
        "architecture": "x86_64",
        "platform": "bare",
        "distribution": UBUNTU,
        "kernel": kernel,
        "virtual": None,
        "container": None,
        "kubernetes": False,
        "wsl": None,
        "cgroup": 2,
        "selinux": None,
        "memory": 64 << 30,
        "memory_available": 60 << 30,
        "memory_limit": None,
        "memory_kills": None,
        "cpu_flags": ("avx", "cx16", "lahf_lm", "pni", "popcnt", "sse4_1", "sse4_2", "ssse3"),
        "uptime": 86400.0,
        "cpu_list": "0-31",
        "numa_balancing": False,
        "address_space": None,
        "may_lock": False,
        "rdma": False,
        "rdma_devices": (),
        "rdma_library": None,
        "plugin_off_path": None,
        "interfaces": ("lo", "eth0"),
        "l4t": None,
        "thunderbolt": (),
    }
    return Host(**(plain | changes))


def card(index: int = 0, **changes: Any) -> PciDevice:
    """An RTX 4090 on PCI, driven by nvidia."""
    plain: dict[str, Any] = {
        "address": f"0000:{index + 1:02x}:00.0",
        "vendor": "10de",
        "device": "2684",
        "class_code": "030000",
        "name": "AD102 [GeForce RTX 4090]",
        "driver": "nvidia",
        "chip": "AD102",
        "generation": "Ada",
        "capability": "8.9",
        "gfx": None,
        "integrated": False,
        "link_generation": 1,
        "link_width": 16,
        "link_generation_max": 4,
        "link_width_max": 16,
        "power_state": "D0",
        "runtime_status": "active",
        "ports": ("0000:00:01.0",),
        "iommu": None,
        "acs": None,
        "local_cpus": "0-31",
        "link_errors": (),
    }
    return PciDevice(**(plain | changes))


def gpu(index: int = 0, **changes: Any) -> Gpu:
    """A healthy, idle RTX 4090 as NVML describes it."""
    plain: dict[str, Any] = {
        "vendor": "nvidia",
        "index": index,
        "address": f"0000:{index + 1:02x}:00.0",
        "name": "NVIDIA GeForce RTX 4090",
        "uuid": f"GPU-{index:08x}-4a1b-2c3d-4e5f-abcdef000000",
        "chip": "AD102",
        "generation": "Ada",
        "capability": "8.9",
        "gfx": None,
        "integrated": False,
        "status": "ok",
        "memory": 24 << 30,
        "memory_used": 400 << 20,
        "utilization": 0,
        "performance_state": 8,
        "temperature": 40,
        "temperature_operating_max": 88,
        "temperature_slowdown": 90,
        "temperature_shutdown": 100,
        "temperature_memory": None,
        "temperature_memory_max": None,
        "fans": (0, 0),
        "power": 20.0,
        "power_limit": 450.0,
        "power_default": 450.0,
        "sm_clock": 210,
        "sm_clock_max": 3105,
        "application_clock": None,
        "application_clock_default": None,
        "event_reasons": ("gpu-idle",),
        "link_generation": 1,
        "link_width": 16,
        "link_generation_max": 4,
        "link_width_max": 16,
        "pcie_replays": 0,
        "ecc": None,
        "ecc_pending": None,
        "ecc_corrected": None,
        "ecc_uncorrected": None,
        "ecc_uncorrected_total": None,
        "remapped_corrected": None,
        "remapped_uncorrected": None,
        "remap_pending": None,
        "remap_failed": None,
        "banks_without_spares": None,
        "sram_threshold": None,
        "inforom": None,
        "retired_pending": None,
        "compute_mode": "default",
        "mig": None,
        "mig_pending": None,
        "mig_devices": None,
        "persistence": False,
        "processes": (),
        "nvlinks": None,
        "fabric_state": None,
        "fabric_status": None,
        "fabric_health": None,
        "fabric_of_several": None,
        "nvlink_replays": None,
        "nvlink_recoveries": None,
        "nvlink_crc": None,
        "vbios": "95.02.3c.00.01",
        "virtualization": "none",
        "recovery_action": "none",
        "numa_node": None,
    }
    return Gpu(**(plain | changes))


def library(soname: str, version: str | None = VERSION, **changes: Any) -> DriverLibrary:
    """A library of the driver in the usual folder."""
    folder = "/usr/lib/x86_64-linux-gnu"
    real = f"{folder}/{soname.removesuffix('.1')}.{version}"
    plain = {"soname": soname, "path": f"{folder}/{soname}", "real": real, "version": version, "found_by": "cache"}
    return DriverLibrary(**(plain | changes))


def nvidia(gpus: int = 1, **kernel: Any) -> Nvidia:
    """A driver of one version, loaded, with all nodes open."""
    names = [*(f"nvidia{i}" for i in range(gpus)), "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"]
    nodes = tuple(
        DeviceNode(path=f"/dev/{n}", mode="666", uid=0, gid=0, major=511 if "uvm" in n else 195, minor=i, error=None)
        for i, n in enumerate(names)
    )
    plain: dict[str, Any] = {
        "loaded": VERSION,
        "flavor": "open",
        "modules": ("nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm"),
        "on_disk": (),
        "other_kernels": (),
        "dkms": None,
        "installer": "package",
        "gpus": tuple(f"0000:{i + 1:02x}:00.0" for i in range(gpus)),
        "nodes": nodes,
        "uvm_major": 511,
        "sva_missing": None,
        "fabric_manager": None,
        "imex": None,
        "persistence_daemon": None,
        "gridd": None,
        "license": None,
        "bbswitch": None,
        "prime": None,
    }
    devices = tuple(CudaDevice(index=i, name="NVIDIA GeForce RTX 4090", capability="8.9") for i in range(gpus))
    return Nvidia(
        kernel=NvidiaKernel(**(plain | kernel)),
        cuda=Cuda(
            libraries=(library("libcuda.so.1"),),
            loaded=f"/usr/lib/x86_64-linux-gnu/libcuda.so.{VERSION}",
            code=0,
            name="CUDA_SUCCESS",
            text="no error",
            version="12.8",
            devices=devices,
            unmasked_code=None,
        ),
        nvml=Nvml(
            libraries=(library("libnvidia-ml.so.1"),),
            loaded=f"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.{VERSION}",
            code=0,
            text=None,
            driver_version=VERSION,
            cuda_version="12.8",
            count=gpus,
            confidential=False,
            accepts_work=None,
            smi="/usr/bin/nvidia-smi",
            smi_elsewhere=None,
        ),
    )


def nvidia_host(gpus: int = 1, **changes: Any) -> Facts:
    """A healthy machine with RTX 4090s and no framework."""
    plain: dict[str, Any] = {
        "host": host(),
        "pci": tuple(card(i) for i in range(gpus)),
        "nvidia": nvidia(gpus),
        "gpus": tuple(gpu(i) for i in range(gpus)),
        "log": KernelLog(source="/dev/kmsg", events=(), first=0.0),
    }
    return Facts(**(plain | changes))


def plain_host(**changes: Any) -> Facts:
    """A healthy machine without any GPU."""
    nothing = Nvidia(
        kernel=NvidiaKernel(loaded=None, modules=(), nodes=(), gpus=(), on_disk=(), other_kernels=()),
        cuda=Cuda(libraries=(), code=None),
        nvml=Nvml(libraries=(), code=None, smi=None, smi_elsewhere=None),
    )
    plain: dict[str, Any] = {"host": host(), "pci": (), "nvidia": nothing, "gpus": (), "log": KernelLog(events=())}
    return Facts(**(plain | changes))


def live(gpus: int = 1, **changes: Any) -> LiveFramework:
    """A framework that was imported and sees its GPUs."""
    plain: dict[str, Any] = {
        "stage": "done",
        "import_seconds": 1.5,
        "available": gpus > 0,
        "count": gpus,
        "error": None,
        "devices": (),
        "libraries": (),
    }
    return LiveFramework(**(plain | changes))


def framework(name: str = "torch", version: str = "2.7.1", **changes: Any) -> Framework:
    """A framework built for CUDA 12.6 with the architectures of PyTorch's wheel."""
    plain: dict[str, Any] = {
        "name": name,
        "distribution": name,
        "version": version,
        "location": f"/opt/env/lib/python3.11/site-packages/{name}",
        "cuda": "12.6",
        "hip": None,
        "variant": "cuda",
        "archs": ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"),
        "needs": (),
        "live": live(),
    }
    return Framework(**(plain | changes))


def python(*frameworks: Framework, **changes: Any) -> Python:
    """A venv that pip fills."""
    site = "/opt/env/lib/python3.11/site-packages"
    plain: dict[str, Any] = {
        "path": "/opt/env/bin/python",
        "found_by": "VIRTUAL_ENV",
        "version": "3.11.7",
        "implementation": "cpython",
        "bits": 64,
        "prefix": "/opt/env",
        "base_prefix": "/usr",
        "kind": "venv",
        "manager": "pip",
        "project": None,
        "externally_managed": False,
        "sys_path": ("/usr/lib/python3.11", site),
        "user_site": None,
        "site_packages": site,
        "headers": True,
        "packages": tuple(
            Package(name=f.distribution or f.name, version=text_of(f.version), directory=site) for f in frameworks
        ),
        "conda": None,
        "frameworks": frameworks,
    }
    return Python(**(plain | changes))


def with_framework(found: Framework, facts: Facts | None = None, **changes: Any) -> Facts:
    """A machine (healthy, one RTX 4090, unless given) with one framework in one environment."""
    return msgspec.structs.replace(facts or nvidia_host(), pythons=(python(found, **changes),))
