"""A desktop whose driver an unattended upgrade replaced, while the kernel still runs the old module."""

from gpudoctor.facts import DiskModule, Dkms, Facts, Nvidia, PciDevice, Python
from gpudoctor.maybe import Unknown
from tests.demo import parts, pythons

OLD, NEW = "550.107.02", "550.120"
RELEASE = "6.8.0-49-generic"
VENV = "/home/user/diffusion/.venv"
ADDRESS = "0000:07:00.0"
REFUSED = Unknown("nvmlInit failed with 18: Driver/library version mismatch")
NO_DEVICES = Unknown("cuInit failed with CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)")
ARCHS = ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90")
REASON = (
    "Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices() that "
    "might have already set an error? Error 803: system has unsupported display driver / cuda driver combination"
)
PACKAGES = (
    "libnvidia-cfg1-550",
    "libnvidia-compute-550",
    "libnvidia-decode-550",
    "libnvidia-encode-550",
    "libnvidia-extra-550",
    "libnvidia-fbc1-550",
    "libnvidia-gl-550",
    "nvidia-compute-utils-550",
    "nvidia-dkms-550",
    "nvidia-driver-550",
    "nvidia-kernel-common-550",
    "nvidia-kernel-source-550",
    "nvidia-utils-550",
    "xserver-xorg-video-nvidia-550",
)
LOG = f"""
[    4.118226] host kernel: nvidia-nvlink: Nvlink Core is being initialized, major device number 236
[    4.163411] host kernel: NVRM: loading NVIDIA UNIX x86_64 Kernel Module  {OLD}  Wed Jul 24 23:53:00 UTC 2024
[264187.402917] host kernel: NVRM: API mismatch: the client has the version {NEW}, but
[264187.402917] host kernel: NVRM: this kernel module has the version {OLD}.  Please
[264187.402917] host kernel: NVRM: make sure that this kernel module and all NVIDIA driver
[264187.402917] host kernel: NVRM: components have the same version.
"""


def facts() -> Facts:
    """The machine."""
    module = DiskModule(
        kernel=RELEASE,
        path=f"/lib/modules/{RELEASE}/updates/dkms/nvidia.ko.zst",
        version=NEW,
        flavor="proprietary",
        signer="DKMS module signing key",
        vermagic=RELEASE,
    )
    kernel = parts.kernel(
        OLD,
        (ADDRESS,),
        flavor="proprietary",
        on_disk=(module,),
        dkms=(Dkms(module="nvidia", version=NEW, kernel=RELEASE, state="installed"),),
        packages=tuple((name, f"{NEW}-0ubuntu0.24.04.1", "ii") for name in PACKAGES),
        persistence_daemon="inactive",
        prime="on-demand",
    )
    cuda = parts.cuda(
        NEW,
        "12.4",
        NO_DEVICES,
        34_541_568,
        code=803,
        name="CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        text="system has unsupported display driver / cuda driver combination",
    )
    nvml = parts.nvml(
        NEW,
        "12.4",
        REFUSED,
        2_078_360,
        code=18,
        text="Driver/library version mismatch",
        driver_version=REFUSED,
        cuda_version=REFUSED,
        confidential=REFUSED,
        accepts_work=REFUSED,
    )
    others = (
        parts.library("libnvidia-ptxjitcompiler.so.1", NEW, 28_674_464),
        parts.library("libnvidia-nvvm.so.4", NEW, 67_704_696),
    )
    return Facts(
        version="0.1.0",
        created="2024-11-21T07:52:41Z",
        seconds=2.407,
        host=parts.host(
            RELEASE,
            "Gigabyte Technology Co., Ltd. B550 AORUS ELITE V2",
            31.25,
            16.0,
            212,
            VENV,
            reboot_required=True,
            compiler="gcc 13.2.0",
            ubuntu="24.04.1",
        ),
        pci=(card(),),
        nvidia=Nvidia(
            kernel=kernel,
            cuda=cuda,
            nvml=nvml,
            other_libraries=others,
            link_libraries=(parts.library("libcuda.so", NEW, 34_541_568),),
        ),
        amd=parts.amd(),
        gpus=REFUSED,
        log=parts.log(LOG),
        containers=parts.containers(),
        toolkits=parts.toolkits(),
        pythons=(python(),),
    )


def card() -> PciDevice:
    """An RTX 3060 as the bus shows it, which asks no driver."""
    return PciDevice(
        address=ADDRESS,
        vendor="10de",
        device="2504",
        class_code="030000",
        name="GA106 [GeForce RTX 3060 Lite Hash Rate]",
        subsystem="1462:397e",
        revision="a1",
        driver="nvidia",
        chip="GA106",
        generation="Ampere",
        capability="8.6",
        gfx=None,
        integrated=False,
        link_generation=1,
        link_width=16,
        link_generation_max=4,
        link_width_max=16,
        numa_node=None,
        power_state="D0",
        runtime_status="active",
        bar1=256 << 20,
        ports=("0000:00:01.0",),
        iommu="identity",
        acs=Unknown("not read: there is one GPU alone"),
        local_cpus="0-15",
        link_errors=(),
    )


def python() -> Python:
    """PyTorch as pip installs it, and what people draw pictures with."""
    said = pythons.live(
        VENV,
        "2.5.1+cu124",
        "12.4",
        2.114,
        pythons.CU124,
        NEW,
        available=False,
        count=0,
        devices=(),
        error=REASON,
        error_code=803,
        archs=ARCHS,
        cudnn="9.1.0",
        warnings=(
            f"UserWarning: CUDA initialization: {REASON} (Triggered internally at ../c10/cuda/CUDAFunctions.cpp:108.)",
        ),
    )
    found = pythons.torch(VENV, "2.5.1", "12.4", ARCHS, "9.1.0.70", pythons.CU124, said)
    packages = (
        *pythons.torch_package(VENV, "2.5.1", pythons.CU124, "3.1.0", 14_472),
        *pythons.wheels(VENV, pythons.CU124),
        pythons.plain(VENV, "torchvision", "0.20.1", 390, requires=("numpy", "torch==2.5.1", "pillow!=8.3.*,>=5.3.0")),
        pythons.plain(VENV, "numpy", "2.1.3", 1_342),
        pythons.plain(VENV, "pillow", "11.0.0", 128),
        pythons.plain(VENV, "diffusers", "0.31.0", 1_105),
        pythons.plain(VENV, "transformers", "4.46.3", 3_911),
        pythons.plain(VENV, "accelerate", "1.1.1", 211),
        pythons.plain(VENV, "safetensors", "0.4.5", 17),
        pythons.plain(VENV, "huggingface-hub", "0.26.2", 168),
    )
    return pythons.environment(VENV, pythons.IN_2024 | {"pip": "24.3.1"}, packages, (found,))
