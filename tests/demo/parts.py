"""What the demos' machines have in common: an Ubuntu host, NVIDIA's driver in one version, and no AMD."""

from typing import Any

from gpudoctor.facts import (
    Amd,
    ContainerHost,
    Cuda,
    CudaDevice,
    CudaHome,
    DeviceNode,
    Distribution,
    DriverLibrary,
    Host,
    Kernel,
    KernelLog,
    NvidiaKernel,
    Nvml,
    Shm,
    Toolkits,
    User,
    UserGroup,
    WritableDirectory,
)
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.probes.kernel_log.lines import from_text, recognised

LIBRARIES = "/usr/lib/x86_64-linux-gnu"
NOT_OPENED = Unknown("not opened: computing does not need it")
NO_AMD = Unknown("not asked: there is no AMD GPU and no ROCm here")
NO_SWITCH = Unknown("not asked: no NVSwitch and no SXM board")
RUNS = Unknown("not looked for: the driver runs, or the kernel is the host's")
GIB = 1 << 30
CACHES = {
    "PyTorch": "/home/user/.cache/torch",
    "Triton": "/home/user/.triton/cache",
    "CuPy": "/home/user/.cupy/kernel_cache",
    "CUDA": "/home/user/.nv/ComputeCache",
    "Hugging Face": "/home/user/.cache/huggingface",
    "temporary files": "/tmp",
}
GROUPS = {"adm": 4, "cdrom": 24, "sudo": 27, "dip": 30, "plugdev": 46, "users": 100, "lpadmin": 114, "user": 1000}
KNOWN = {"render": 992, "video": 44}


def host(
    release: str, product: str, gib: float, cpus: float, disk: int, venv: str, ubuntu: str = "24.04.3", **kernel: Any
) -> Host:
    """A machine without a container around it.

    Args:
        release: of the kernel.
        product: maker and model.
        gib: of memory.
        cpus: threads.
        disk: GiB free where the caches lie.
        venv: the active environment.
        ubuntu: the point release.
        kernel: fields of the kernel that differ.
    """
    memory = int(gib * GIB)
    plain: dict[str, Any] = {
        "release": release,
        "compiler": "gcc 13.3.0",
        "command_line": f"BOOT_IMAGE=/boot/vmlinuz-{release} root=UUID=*** ro quiet splash",
        "lockdown": "none",
        "secure_boot": False,
        "headers": True,
        "reboot_required": False,
        "firmware_loader": True,
        "modules": True,
    }
    return Host(
        architecture="x86_64",
        hostname="host",
        platform="bare",
        distribution=Distribution(
            id="ubuntu", like=("debian",), version="24.04", codename="noble", name=f"Ubuntu {ubuntu} LTS"
        ),
        kernel=Kernel(**(plain | kernel)),
        product=product,
        virtual=None,
        container=None,
        kubernetes=False,
        wsl=None,
        cgroup=2,
        memory=memory,
        memory_available=int(0.83 * memory) // 4096 * 4096,
        memory_limit=None,
        memory_kills=None,
        cpu_flags=("avx", "cx16", "lahf_lm", "pni", "popcnt", "sse4_1", "sse4_2", "ssse3"),
        cpus=cpus,
        memlock=memory // 8 // 4096 * 4096,
        shm=Shm(size=memory // 2, free=memory // 2 - (37 << 20), mode="1777", writable=True),
        directories=tuple(
            WritableDirectory(path=path, purpose=purpose, free=disk * GIB - 0x1B3000, writable=True, executable=True)
            for purpose, path in CACHES.items()
        ),
        user=User(
            uid=1000,
            login=True,
            name="user",
            groups=tuple(UserGroup(gid=gid, name=name) for name, gid in GROUPS.items()),
            known_groups=tuple(UserGroup(gid=gid, name=name) for name, gid in KNOWN.items()),
            sudo=True,
        ),
        selinux=None,
        environment={
            "HOME": "/home/user",
            "PATH": f"{venv}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/games:/snap/bin",
            "VIRTUAL_ENV": venv,
        },
        uptime=3.2 * 86400,
        cpu_list=f"0-{cpus - 1:.0f}",
        numa_balancing=False,
        address_space=None,
        may_lock=False,
        rdma=False,
        l4t=None,
        thunderbolt=(),
    )


def library(soname: str, version: str, size: int, why: str = "cache") -> DriverLibrary:
    """One of the driver's libraries."""
    stem = soname.partition(".so")[0]
    path = f"{LIBRARIES}/{soname}".removeprefix("/usr")  # /lib is a link to /usr/lib, and the cache names it so
    real = f"{LIBRARIES}/{stem}.so.{version}"
    return DriverLibrary(soname=soname, path=path, real=real, version=version, found_by=why, kind="driver", size=size)


def kernel(version: str, addresses: tuple[str, ...], **changes: Any) -> NvidiaKernel:
    """The kernel's half of the driver, installed from Ubuntu's packages."""
    names = {f"nvidia{i}": (195, i) for i in range(len(addresses))}
    names |= {
        "nvidia-modeset": (195, 254),
        "nvidia-uvm": (509, 0),
        "nvidia-uvm-tools": (509, 1),
        "nvidiactl": (195, 255),
    }
    idle = ("nvidia-modeset", "nvidia-uvm-tools")
    plain: dict[str, Any] = {
        "loaded": version,
        "flavor": "open",
        "modules": ("nvidia", "nvidia_drm", "nvidia_modeset", "nvidia_uvm"),
        "on_disk": (),
        "other_kernels": (),
        "dkms": None,
        "installer": "package",
        "parameters": {"DeviceFileMode": "438", "EnableGpuFirmware": "18", "EnableMSI": "1", "ModifyDeviceFiles": "1"},
        "gpus": addresses,
        "nodes": tuple(
            DeviceNode(
                path=f"/dev/{n}", mode="666", uid=0, gid=0, major=a, minor=b, error=NOT_OPENED if n in idle else None
            )
            for n, (a, b) in names.items()
        ),
        "uvm_major": 509,
        "fabric_manager": NO_SWITCH,
        "fabric_manager_version": NO_SWITCH,
        "subnet_manager": NO_SWITCH,
        "imex": None,
        "persistence_daemon": "active",
        "gridd": None,
        "license": None,
        "bbswitch": None,
        "prime": None,
        "switch": RUNS,
        "packages": (),
        "wsl_drivers": None,
        "dxgdmal": None,
    }
    return NvidiaKernel(**(plain | changes))


def cuda(version: str, release: str, devices: Maybe[tuple[CudaDevice, ...]], size: int, **changes: Any) -> Cuda:
    """What libcuda answers."""
    plain: dict[str, Any] = {
        "libraries": (library("libcuda.so.1", version, size),),
        "loaded": f"{LIBRARIES}/libcuda.so.{version}",
        "code": 0,
        "name": "CUDA_SUCCESS",
        "text": "no error",
        "version": release,
        "devices": devices,
        "unmasked_code": None,
    }
    return Cuda(**(plain | changes))


def nvml(version: str, release: str, count: Maybe[int | None], size: int, **changes: Any) -> Nvml:
    """What NVML answers."""
    plain: dict[str, Any] = {
        "libraries": (library("libnvidia-ml.so.1", version, size),),
        "loaded": f"{LIBRARIES}/libnvidia-ml.so.{version}",
        "code": 0,
        "text": None,
        "driver_version": version,
        "cuda_version": release,
        "count": count,
        "confidential": False,
        "accepts_work": None,
        "smi": "/usr/bin/nvidia-smi",
        "smi_elsewhere": None,
    }
    return Nvml(**(plain | changes))


def amd() -> Amd:
    """Nothing of AMD's."""
    return Amd(
        loaded=False,
        version=None,
        kfd=(),
        render=(),
        topology=False,
        dkms=NO_AMD,
        packages=NO_AMD,
        rocm=None,
        rocm_path=None,
        blacklisted=NO_AMD,
        dxg=False,
    )


def containers(**changes: Any) -> ContainerHost:
    """No container engine, unless changed."""
    plain: dict[str, Any] = dict.fromkeys(ContainerHost.__struct_fields__)
    empty = {
        "cdi": (),
        "cdi_fields": {},
        "cdi_nodes": (),
        "cdi_gone": (),
        "hook": False,
        "user_namespace": False,
        "refused": (),
    }
    return ContainerHost(**(plain | empty | changes))


def toolkits() -> Toolkits:
    """No CUDA toolkit; Ubuntu's compiler."""
    home = CudaHome(path=None, exists=False, nvcc=None, headers=False)
    return Toolkits(nvccs=(), home=home, installed=(), libraries=(), cxx="/usr/bin/cc", cxx_version="gcc 13.3.0")


def log(text: str, source: str = "journalctl") -> KernelLog:
    """The kernel's log as journalctl prints it, of which the lines that say something about GPUs are kept."""
    events = tuple(event for message in from_text(text.splitlines()) for event in recognised(message))
    return KernelLog(source=source, events=events, first=0.0, now=3.2 * 86400)
