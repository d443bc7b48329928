"""Questions about NVIDIA's driver that several checks ask, answered from facts alone."""

from collections.abc import Iterator

from gpudoctor.facts import DiskModule, Event, Facts, Gpu, Library, PciDevice
from gpudoctor.judge import MACHINE, About
from gpudoctor.knowledge import generations
from gpudoctor.maybe import Maybe, Unknown, known
from gpudoctor.subjects import (
    OnCard,
    OnGpu,
    cards_of,
    gpu_key,
    gpus_of,
    has_dxg,
    in_container,
    nvidia_gpus,
    wants_nvidia,
)

# Why a driver that is there does not reach a GPU, from the ground up; checks name these in `because`.
DEAD = (
    "device.none",
    "device.driver-without-gpu",
    "device.switched-off",
    "device.bar-unassigned",
    "device.fallen-off-the-bus",
    "device.needs-reset",
    "device.gsp-failed",
    "device.init-failed",
)
BUILD = (
    "driver.not-installed",
    "driver.headers-missing",
    "driver.dkms-build-failed",
    "driver.built-for-another-kernel",
    "driver.no-module-for-kernel",
)
OTHER_DRIVERS = ("driver.nouveau-in-the-way", "driver.nova-core-in-the-way", "driver.vfio-in-the-way")
REFUSED = ("driver.refused-by-secure-boot", "driver.refused-by-lockdown", "driver.blacklisted")
UNFIT = (
    "driver.gpu-dropped",
    "driver.gpu-too-new",
    "driver.open-module-unsupported",
    "driver.proprietary-module-unsupported",
)
VERSIONS = (
    "driver.half-upgraded",
    "driver.library-mismatch",
    "driver.mixed-installation",
    "driver.compat-mismatch",
    "driver.compat-unsupported",
    "driver.stub-library",
)
NODES = (
    "driver.device-nodes-missing",
    "driver.device-nodes-closed",
    "driver.uvm-missing",
    "driver.uvm-stale",
    "driver.library-missing",
)
HANGS = ("driver.nvml-no-answer", "driver.cuda-no-answer", "driver.crashes")
NOT_LOADED = (*DEAD, *BUILD, *OTHER_DRIVERS, *REFUSED, *UNFIT, "driver.not-loaded")
SURROUNDINGS = ("container.*", "wsl.*")

# The modes of lockdown in which unsigned modules are refused (kernel_lockdown(7)).
STRICT = ("integrity", "confidentiality")
# What the probe says of a copy that the loader does not reach.
OFF_PATH = "not on the loader's path"

# cuInit's and NVML's results (cuda_errors.toml, nvml_errors.toml).
NVML_LOST, NVML_RESET, NVML_MISMATCH = 15, 16, 18
CUDA_STUB, CUDA_BUSY, CUDA_NO_DEVICE, CUDA_MISMATCH, CUDA_COMPAT, CUDA_UNKNOWN = 34, 46, 100, 803, 804, 999
CUDA_NOT_READY = 802


def not_wsl(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine where NVIDIA's driver or hardware is wanted and its kernel is Linux's own, not a Windows host's."""
    if wants_nvidia(facts) and not has_dxg(facts):
        yield MACHINE, facts


def own_kernel(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The same outside of containers: whoever runs this may change the kernel's modules."""
    if not in_container(facts):
        yield from not_wsl(facts)


def several_gpus(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine where NVML lists more than one GPU."""
    if len(gpus_of(facts, "nvidia")) > 1:
        yield MACHINE, facts


# -- versions ------------------------------------------------------------------------------------------------


def disk_version(facts: Facts) -> Maybe[str | None]:
    """Version of the module that modprobe would load for the running kernel; None: there is no such file."""
    found = facts.nvidia.kernel.on_disk
    if isinstance(found, Unknown):
        return found
    return found[0].version if found else None


def first_module(facts: Facts) -> DiskModule | None:
    """The module file that modprobe would load; None where there is none or it is unknown."""
    found = facts.nvidia.kernel.on_disk
    return found[0] if isinstance(found, tuple) and found else None


def user_library(facts: Facts) -> Library | None:
    """The driver's library that programs load and whose name tells the version; None where there is none.

    Copies that are meant to differ (compat, stub) do not count.

    Raises:
        UnknownFactError: nobody could look for the libraries.
    """
    for found in (known(facts.nvidia.nvml.libraries), known(facts.nvidia.cuda.libraries)):
        for one in found:
            if one.kind in ("driver", "other", "system") and one.why != OFF_PATH and isinstance(one.version, str):
                return one
    return None


def library_version(facts: Facts) -> str | None:
    """Version of that library; None where there is none or its name tells no version.

    Raises:
        UnknownFactError: nobody could look for the libraries.
    """
    found = user_library(facts)
    return found.version if found and isinstance(found.version, str) else None


def loaded_libcuda(facts: Facts) -> Library | None:
    """The libcuda.so.1 that programs get: the one the child had mapped, else the first in the loader's order."""
    found = facts.nvidia.cuda.libraries
    if isinstance(found, Unknown) or not found:
        return None
    mapped = facts.nvidia.cuda.loaded
    reached = [one for one in found if one.why != OFF_PATH]
    return next((one for one in found if mapped in (one.real, one.path)), reached[0] if reached else None)


def module_version(facts: Facts) -> str | None:
    """Version of the loaded module, else of the one on disk; None where neither is known."""
    for version in (facts.nvidia.kernel.loaded, disk_version(facts)):
        if isinstance(version, str):
            return version
    return None


def module_flavour(facts: Facts) -> str | None:
    """Flavour (open, proprietary) of the loaded module, else of the one on disk; None where neither is known."""
    kernel = facts.nvidia.kernel
    disk = kernel.on_disk[0].flavour if isinstance(kernel.on_disk, tuple) and kernel.on_disk else None
    return next((f for f in (kernel.flavour, disk) if isinstance(f, str)), None)


def branch(version: str | None) -> int | None:
    """The driver branch of a version: "550.54.14" is of branch 550."""
    head = (version or "").partition(".")[0]
    return int(head) if head.isdigit() else None


# -- cards ---------------------------------------------------------------------------------------------------


def generation_of(card: PciDevice) -> generations.Generation | None:
    """What is known of the card's generation; None where the card is not in the tables."""
    return generations.generation_named(card.generation) if isinstance(card.generation, str) else None


def works(facts: Facts, card: PciDevice) -> bool:
    """Whether NVML lists this card and it answers."""
    return any(g.address == card.address and g.status == "ok" for g in gpus_of(facts, "nvidia"))


def any_works(facts: Facts) -> bool:
    """Whether any NVIDIA GPU of this machine is known to work."""
    return any(g.status == "ok" for g in gpus_of(facts, "nvidia"))


def card_name(card: PciDevice) -> str:
    """For people: "The GPU at 0000:01:00.0 (GM204 [GeForce GTX 970])"."""
    name = f" ({card.name})" if isinstance(card.name, str) else ""
    return f"The GPU at {card.address}{name}"


def gpu_name(gpu: Gpu) -> str:
    """For people: "GPU 0 (NVIDIA GeForce RTX 4090)"."""
    return f"GPU {gpu.index} ({gpu.name})" if isinstance(gpu.name, str) else f"GPU {gpu.index}"


def owned_by(facts: Facts, *drivers: str) -> tuple[PciDevice, ...]:
    """The NVIDIA GPUs that these kernel drivers hold, in any case of letters, with - or _."""
    wanted = {d.lower().replace("-", "_") for d in drivers}
    held = [c for c in cards_of(facts, "nvidia") if isinstance(c.driver, str)]
    return tuple(c for c in held if str(c.driver).lower().replace("-", "_") in wanted)


def module_at_hand(facts: Facts) -> bool:
    """Whether nvidia.ko is loaded, or lies on disk for the running kernel (unknown counts: nothing else explains)."""
    kernel = facts.nvidia.kernel
    return isinstance(kernel.loaded, str) or isinstance(kernel.on_disk, Unknown) or bool(kernel.on_disk)


# -- the log -------------------------------------------------------------------------------------------------


def events(facts: Facts, *kinds: str) -> tuple[Event, ...]:
    """The log's messages of these kinds since the driver was last loaded; empty where no log could be read.

    A driver that is loaded anew starts with a clean GPU, so what was before does not count any more.
    """
    found = facts.log.events
    if isinstance(found, Unknown):
        return ()
    last = max((i for i, event in enumerate(found) if event.kind == "nvidia-loaded"), default=-1)
    return tuple(event for event in found[last + 1 :] if event.kind in kinds)


def texts(found: tuple[Event, ...], most: int = 4) -> tuple[str, ...]:
    """The messages verbatim, each once, as evidence."""
    return tuple(dict.fromkeys(event.text for event in found))[:most]


def xids(facts: Facts, address: str | None, *codes: int) -> tuple[Event, ...]:
    """The Xid messages of one GPU (None: of all) with one of these codes (none given: all)."""
    found = events(facts, "xid")
    return tuple(e for e in found if (address is None or e.gpu == address) and (not codes or e.code in codes))


def reset_since(gpu: Gpu) -> bool:
    """Whether the driver itself says that the GPU needs no recovery any more (NVML's recovery action, from 570)."""
    return gpu.status == "ok" and gpu.recovery_action == "none"


def gpus_and_lost_cards(facts: Facts) -> Iterator[tuple[About, OnGpu | OnCard]]:
    """Each GPU that NVML lists, and each card on PCI that the driver holds and NVML does not list."""
    listed = {g.address for g in gpus_of(facts, "nvidia")}
    yield from nvidia_gpus(facts)
    for card in cards_of(facts, "nvidia"):
        if card.address not in listed:
            yield About(label=f"the GPU at {card.address}", gpu=card.address), OnCard(facts, card)


def address_of(on: OnGpu | OnCard) -> str:
    """The PCI address, or what else tells this GPU from others."""
    return gpu_key(on.gpu) if isinstance(on, OnGpu) else on.card.address


def name_of(on: OnGpu | OnCard) -> str:
    """For people: "GPU 0 (NVIDIA A10)", "The GPU at 0000:01:00.0"."""
    return gpu_name(on.gpu) if isinstance(on, OnGpu) else card_name(on.card)
