"""NVIDIA's driver does not answer, and PyTorch sees no GPU for that."""

from typing import Any

from gpudoctor.facts import ConfigLine, Distribution, Dkms, Facts, PackageSource
from gpudoctor.facts.history import ChangeHistory, RecordedChange
from gpudoctor.maybe import Unknown
from tests.builders import framework, library, live, with_framework
from tests.checks.nvidia_machines import OTHER, disk, event, having, unloaded, versions
from tests.machines.registry import machine

LATE = Unknown("NVML did not answer in time")
UNSEEN = "No CUDA GPUs are available"
TORCH = framework(live=live(0, error=UNSEEN, error_code=100))
UBUNTU_PACKAGES = (
    ("libnvidia-compute-570", "570.169-0ubuntu0.24.04.1", "ii"),
    ("nvidia-dkms-570", "570.169-0ubuntu0.24.04.1", "ii"),
    ("nvidia-utils-570", "570.169-0ubuntu0.24.04.1", "ii"),
)


def blind(facts: Facts) -> Facts:
    """The machine with a PyTorch that finds no GPU."""
    return with_framework(TORCH, facts)


@machine("driver.library-mismatch")
def upgraded_under_a_running_kernel() -> Facts:
    """unattended-upgrades replaced libraries and module file; the old module still runs."""
    facts = versions("570.133.07", "570.169", "570.169")
    upgrade = RecordedChange(
        time="2026-11-20 06:31:52",
        action="upgrade",
        name="nvidia-utils-570",
        old="570.133.07-0ubuntu0.24.04.1",
        new="570.169-0ubuntu0.24.04.1",
        command="/usr/bin/unattended-upgrade",
        source="/var/log/apt/history.log",
    )
    history = ChangeHistory(packages=(upgrade,), boot="2026-11-02 08:14:09")
    facts = having(facts, history=history, nvidia__kernel__packages=UBUNTU_PACKAGES)
    return blind(having(facts, nvidia__cuda__text="system has unsupported display driver / cuda driver combination"))


@machine("driver.built-for-another-kernel")
def new_kernel_without_a_module() -> Facts:
    """The kernel was upgraded; DKMS built the module only for the old one."""
    installed = (Dkms(module="nvidia", version="570.169", kernel=OTHER, state="installed"),)
    return blind(
        unloaded(
            nvidia__kernel__on_disk=(),
            nvidia__kernel__other_kernels=(disk(kernel=OTHER),),
            nvidia__kernel__dkms=installed,
            nvidia__kernel__packages=UBUNTU_PACKAGES,
        )
    )


@machine("driver.headers-missing")
def new_kernel_without_headers() -> Facts:
    """The same, because the new kernel's headers are not installed."""
    return blind(
        unloaded(
            nvidia__kernel__on_disk=(),
            nvidia__kernel__other_kernels=(disk(kernel=OTHER),),
            nvidia__kernel__dkms=(Dkms(module="nvidia", version="570.169", state="added"),),
            host__kernel__headers=False,
            nvidia__kernel__packages=UBUNTU_PACKAGES,
        )
    )


@machine("driver.refused-by-secure-boot")
def unsigned_module_under_secure_boot() -> Facts:
    """Secure Boot is on, and the module that was built here is signed by no enrolled key."""
    return blind(
        unloaded(
            host__kernel__secure_boot=True,
            host__kernel__lockdown="integrity",
            nvidia__kernel__on_disk=(disk(signer=None),),
            log__events=(event("module-rejected", "Loading of unsigned module is rejected"),),
        )
    )


@machine("driver.nouveau-in-the-way")
def nouveau_holds_the_card() -> Facts:
    """Nouveau was loaded first."""
    return blind(unloaded(pci__0__driver="nouveau", nvidia__kernel__modules=("nouveau",)))


@machine("driver.not-installed")
def card_without_a_driver() -> Facts:
    """A fresh Ubuntu with a new card, and PyPI's PyTorch."""
    nothing: dict[str, Any] = {
        "nvidia__kernel__on_disk": (),
        "nvidia__kernel__installer": None,
        "nvidia__kernel__packages": (),
        "nvidia__cuda__libraries": (),
        "nvidia__cuda__loaded": None,
        "nvidia__cuda__code": None,
        "nvidia__cuda__version": None,
        "nvidia__nvml__libraries": (),
        "nvidia__nvml__code": None,
        "nvidia__nvml__smi": None,
        "nvidia__nvml__cuda_version": None,
    }
    return blind(unloaded(**nothing))


@machine("driver.repository-of-another-release")
def debian_13_with_the_repository_of_debian_12() -> Facts:
    """Upgraded from Debian 12, whose repository of NVIDIA's apt now rejects."""
    return having(
        card_without_a_driver(),
        host__distribution=Distribution(
            id="debian", version="13", codename="trixie", name="Debian GNU/Linux 13 (trixie)"
        ),
        host__sources=(
            PackageSource(
                path="/etc/apt/sources.list.d/debian.sources",
                kind="distribution",
                release="trixie",
                components=("main", "non-free-firmware"),
            ),
            PackageSource(path="/etc/apt/sources.list.d/cuda-debian12-x86_64.list", kind="nvidia", release="debian12"),
        ),
    )


@machine("driver.library-mismatch")
def old_module_in_the_initramfs() -> Facts:
    """The same upgrade, a day ago; the machine was restarted since, and loaded the old module again."""
    return having(
        upgraded_under_a_running_kernel(),
        nvidia__kernel__on_disk=(disk(age=86400.0),),
        history__boot="2026-11-21 05:40:11",
        host__uptime=3600.0,
    )


@machine("driver.realtime-kernel")
def real_time_kernel() -> Facts:
    """NVIDIA's build refuses the kernel."""
    return blind(
        unloaded(
            host__kernel__release="6.8.1-1015-realtime",
            nvidia__kernel__on_disk=(),
            nvidia__kernel__other_kernels=(disk(kernel=OTHER),),
            nvidia__kernel__dkms=(Dkms(module="nvidia", version="570.169", state="added"),),
            nvidia__kernel__dkms_errors=("*** Failed PREEMPT_RT sanity check. Bailing out! ***",),
            nvidia__kernel__packages=UBUNTU_PACKAGES,
        )
    )


@machine("driver.not-loaded")
def module_not_loaded() -> Facts:
    """Everything is installed, and nobody has loaded the module since the installation."""
    return blind(unloaded(nvidia__kernel__packages=UBUNTU_PACKAGES))


@machine("driver.uvm-stale")
def slept_and_lost_unified_memory() -> Facts:
    """After a suspend nvidia-smi answers, and cuInit says: unknown error."""
    facts = having(
        nvidia__cuda__code=999,
        nvidia__cuda__name="CUDA_ERROR_UNKNOWN",
        nvidia__cuda__text="unknown error",
        nvidia__cuda__devices=(),
        log__events=(event("suspend", "PM: suspend entry (deep)"), event("resume", "PM: suspend exit")),
        host__platform="laptop",
    )
    return with_framework(framework(live=live(0, error="CUDA unknown error", error_code=999)), facts)


@machine("driver.device-nodes-missing")
def device_nodes_missing() -> Facts:
    """A server without a display, where nothing made /dev/nvidia*."""
    return blind(
        having(
            nvidia__kernel__nodes=(),
            nvidia__cuda__code=100,
            nvidia__cuda__name="CUDA_ERROR_NO_DEVICE",
            nvidia__cuda__text="no CUDA-capable device is detected",
            nvidia__cuda__devices=(),
            nvidia__nvml__code=9,
            nvidia__nvml__text="Driver Not Loaded",
            gpus=(),
        )
    )


@machine("driver.open-module-unsupported")
def open_module_for_pascal() -> Facts:
    """The open flavor of the module was installed for a GTX 1080 Ti, which it does not drive."""
    pascal: dict[str, Any] = {
        "pci__0__device": "1b06",
        "pci__0__name": "GP102 [GeForce GTX 1080 Ti]",
        "pci__0__chip": "GP102",
        "pci__0__generation": "Pascal",
        "pci__0__capability": "6.1",
        "pci__0__driver": None,
        "gpus": (),
        "nvidia__kernel__gpus": (),
        "nvidia__kernel__on_disk": (disk(flavor="open"),),
        "nvidia__nvml__code": 6,
        "nvidia__nvml__text": "Not Found",
        "nvidia__cuda__code": 100,
        "nvidia__cuda__name": "CUDA_ERROR_NO_DEVICE",
        "nvidia__cuda__text": "no CUDA-capable device is detected",
        "nvidia__cuda__devices": (),
    }
    return blind(having(**pascal))


@machine("driver.stub-library")
def stub_on_the_loaders_path() -> Facts:
    """LD_LIBRARY_PATH names the toolkit's stubs, whose libcuda answers nothing."""
    folder = "/usr/local/cuda/lib64/stubs"
    stub = library(
        "libcuda.so.1",
        None,
        path=f"{folder}/libcuda.so.1",
        real=f"{folder}/libcuda.so",
        kind="stub",
        found_by="LD_LIBRARY_PATH",
    )
    return with_framework(
        framework(live=live(0, error="CUDA driver is a stub library", error_code=34)),
        having(
            nvidia__cuda__libraries=(stub, library("libcuda.so.1")),
            nvidia__cuda__loaded=f"{folder}/libcuda.so",
            nvidia__cuda__code=34,
            nvidia__cuda__name="CUDA_ERROR_STUB_LIBRARY",
            nvidia__cuda__text="CUDA driver is a stub library",
            nvidia__cuda__devices=(),
            host__environment={"LD_LIBRARY_PATH": folder},
        ),
    )


@machine("driver.vfio-in-the-way")
def card_bound_to_vfio() -> Facts:
    """The only card was handed to virtual machines once, and still is."""
    return blind(unloaded(pci__0__driver="vfio-pci"))


@machine("driver.blacklisted")
def module_blacklisted() -> Facts:
    """Somebody blacklisted nvidia itself, while ridding the machine of nouveau."""
    lines = (ConfigLine(path="/etc/modprobe.d/blacklist-nouveau.conf", text="blacklist nvidia"),)
    return blind(unloaded(nvidia__kernel__blacklists=("nouveau", "nvidia"), nvidia__kernel__blacklist_lines=lines))


@machine("driver.library-missing")
def libcuda_not_installed() -> Facts:
    """A headless installation brought nvidia-smi and no libcuda."""
    return with_framework(
        framework(live=live(0, error="Found no NVIDIA driver on your system.")),
        having(
            nvidia__cuda__libraries=(),
            nvidia__cuda__loaded=None,
            nvidia__cuda__code=None,
            nvidia__cuda__name=None,
            nvidia__cuda__text=None,
            nvidia__cuda__devices=(),
            nvidia__cuda__version=None,
        ),
    )


@machine("driver.uptime-hang")
def up_for_67_days() -> Facts:
    """A machine with B200 whose open module hangs since its 67th day of uptime."""
    release = "570.133.20"
    return with_framework(
        framework(live=live(0, hung=True, stage="init")),
        having(
            versions(release, release, release),
            pci__0__name="GB100 [B200]",
            pci__0__chip="GB100",
            host__uptime=67.3 * 86400,
            nvidia__kernel__flavor="open",
            nvidia__nvml__hung="init",
            nvidia__nvml__code=LATE,
            nvidia__cuda__hung="init",
            nvidia__cuda__code=LATE,
            nvidia__cuda__name=LATE,
            gpus=LATE,
        ),
    )


@machine("driver.nvml-no-answer")
def nvidia_smi_hangs() -> Facts:
    """nvidia-smi never comes back."""
    return with_framework(
        framework(live=live(0, hung=True, stage="init")),
        having(nvidia__nvml__hung="init", nvidia__nvml__code=LATE, gpus=LATE),
    )
