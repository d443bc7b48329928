"""A desktop with a healthy RTX 5070 Ti, in whose uv project an index gives PyTorch for the CPU."""

from typing import Any

from gpudoctor.facts import CudaDevice, Facts, Framework, Gpu, GpuProcess, Nvidia, PciDevice, Python
from gpudoctor.maybe import Unknown
from tests.demo import parts, pythons

DRIVER = "580.95.05"
RELEASE = "6.14.0-33-generic"
VENV = "/home/user/segmentation/.venv"
ADDRESS = "0000:01:00.0"
NAME = "NVIDIA GeForce RTX 5070 Ti"
UUID = "GPU-5f0c2b1e-93d4-6a7e-8c41-2d9b7e604a13"
MEMORY = 16_303 << 20
LOG = f"""
[    3.402871] host kernel: NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  {DRIVER}  Release Build
"""
PACKAGES = (
    "libnvidia-compute-580",
    "nvidia-compute-utils-580",
    "nvidia-dkms-580-open",
    "nvidia-driver-580-open",
    "nvidia-kernel-common-580",
    "nvidia-utils-580",
)
SAME: dict[str, Any] = {
    "address": ADDRESS,
    "chip": "GB203",
    "generation": "Blackwell",
    "capability": "12.0",
    "gfx": None,
    "integrated": False,
    "link_generation": 1,
    "link_width": 16,
    "link_generation_max": 5,
    "link_width_max": 16,
    "numa_node": None,
}


def facts() -> Facts:
    """The machine."""
    sizes = {"libnvidia-ptxjitcompiler.so.1": 39_420_976, "libnvidia-nvvm.so.4": 86_842_616}
    seen = CudaDevice(index=0, name=NAME, uuid=UUID, capability="12.0", memory=MEMORY - (215 << 20), address=ADDRESS)
    return Facts(
        version="0.1.0",
        created="2025-11-18T19:03:27Z",
        seconds=3.118,
        host=parts.host(RELEASE, "Micro-Star International Co., Ltd. MS-7E06", 62.58, 28.0, 884, VENV),
        pci=(card(),),
        nvidia=Nvidia(
            kernel=parts.kernel(
                DRIVER,
                (ADDRESS,),
                packages=tuple((p, f"{DRIVER}-0ubuntu0.24.04.2", "ii") for p in PACKAGES),
            ),
            cuda=parts.cuda(DRIVER, "13.0", (seen,), 96_398_240),
            nvml=parts.nvml(DRIVER, "13.0", 1, 2_300_984),
            other_libraries=tuple(parts.library(name, DRIVER, size) for name, size in sizes.items()),
            link_libraries=(parts.library("libcuda.so", DRIVER, 96_398_240),),
        ),
        amd=parts.amd(),
        gpus=(gpu(),),
        log=parts.log(LOG),
        containers=parts.containers(),
        toolkits=parts.toolkits(),
        pythons=(python(),),
    )


def card() -> PciDevice:
    """The card as the bus shows it, at rest."""
    return PciDevice(
        vendor="10de",
        device="2c05",
        class_code="030000",
        name="GB203 [GeForce RTX 5070 Ti]",
        subsystem="1043:89f4",
        revision="a1",
        driver="nvidia",
        power_state="D0",
        runtime_status="active",
        bar1=16 << 30,
        ports=("0000:00:01.0",),
        iommu="identity",
        acs=Unknown("not read: there is one GPU alone"),
        local_cpus="0-27",
        link_errors=(),
        **SAME,
    )


def gpu() -> Gpu:
    """The GPU as NVML tells of it, while it shows a desktop."""
    held = {"/usr/lib/xorg/Xorg": (2911, 412), "/usr/bin/gnome-shell": (3107, 168), "/usr/share/code/code": (5288, 121)}
    return Gpu(
        vendor="nvidia",
        index=0,
        name=NAME,
        uuid=UUID,
        status="ok",
        memory=MEMORY,
        memory_used=1_168 << 20,
        utilization=3,
        performance_state=8,
        temperature=38,
        temperature_operating_max=88,
        temperature_slowdown=90,
        temperature_shutdown=95,
        temperature_memory=None,
        temperature_memory_max=None,
        fans=(0, 0),
        power=21.4,
        power_limit=300.0,
        power_default=300.0,
        sm_clock=247,
        sm_clock_max=3120,
        application_clock=None,
        application_clock_default=None,
        event_reasons=("gpu-idle",),
        pcie_replays=0,
        ecc=None,
        ecc_pending=None,
        ecc_corrected=None,
        ecc_uncorrected=None,
        ecc_uncorrected_total=None,
        remapped_corrected=None,
        remapped_uncorrected=None,
        remap_pending=None,
        remap_failed=None,
        banks_without_spares=None,
        sram_threshold=None,
        inforom=None,
        retired_pending=None,
        compute_mode="default",
        mig=None,
        mig_pending=None,
        mig_devices=None,
        persistence=True,
        processes=tuple(
            GpuProcess(pid=pid, memory=mib << 20, name=name, user=1000, state="S") for name, (pid, mib) in held.items()
        ),
        nvlinks=None,
        fabric_state="not-supported",
        fabric_status=0,
        fabric_health=None,
        fabric_of_several=None,
        nvlink_replays=None,
        nvlink_recoveries=None,
        nvlink_crc=None,
        vbios="98.03.58.40.8D",
        serial=None,
        virtualization="none",
        recovery_action="none",
        render_node="/dev/dri/renderD128",
        **SAME,
    )


def python() -> Python:
    """PyTorch from the CPU's index, and what a student of pictures has beside it."""
    version = "2.9.1+cpu"
    site = f"{VENV}/lib/python3.12/site-packages"
    said = pythons.live(
        VENV,
        version,
        None,
        0.934,
        (),
        DRIVER,
        available=False,
        count=0,
        devices=(),
        archs=(),
        cudnn=None,
        error="Torch not compiled with CUDA enabled",
    )
    found = Framework(
        name="torch",
        distribution="torch",
        version=version,
        location=f"{site}/torch",
        cuda=None,
        hip=None,
        variant="cpu",
        archs=(),
        kernels=(),
        cudnn=None,
        needs=(),
        plugin=None,
        plugin_version=None,
        backend_version=None,
        live=said,
    )
    needs = (
        "filelock",
        "typing-extensions>=4.10.0",
        "setuptools",
        "sympy>=1.13.3",
        "networkx>=2.5.1",
        "jinja2",
        "fsspec>=0.8.5",
    )
    own = ("libc10.so", "libtorch.so", "libtorch_cpu.so", "libtorch_python.so")
    packages = (
        pythons.plain(VENV, "torch", version, 11_906, "uv", requires=needs, libraries=own),
        pythons.plain(
            VENV, "torchvision", "0.24.1+cpu", 397, "uv", requires=("numpy", "torch==2.9.1", "pillow!=8.3.*,>=5.3.0")
        ),
        pythons.plain(VENV, "numpy", "2.3.5", 1_189, "uv"),
        pythons.plain(VENV, "timm", "1.0.22", 531, "uv"),
    )
    others = pythons.IN_2025 | {"pillow": "12.0.0", "matplotlib": "3.10.7", "tqdm": "4.67.1", "ruff": "0.14.5"}
    return pythons.environment(
        VENV,
        others,
        packages,
        (found,),
        "uv",
        project="/home/user/segmentation",
        base_prefix="/home/user/.local/share/uv/python/cpython-3.12.12-linux-x86_64-gnu",
        version="3.12.12",
        real="/home/user/.local/share/uv/python/cpython-3.12.12-linux-x86_64-gnu/bin/python3.12",
    )
