"""Questions about NVIDIA's driver that several checks ask, answered from facts alone."""

from collections.abc import Iterator
from typing import NamedTuple

from gpudoctor.facts import DiskModule, Event, Facts, Gpu, Library, PciDevice
from gpudoctor.judge import MACHINE, About
from gpudoctor.knowledge import generations
from gpudoctor.maybe import Maybe, Unknown, known
from gpudoctor.subjects import (
    OnCard,
    cards_of,
    gpu_key,
    gpus_of,
    has_dxg,
    in_container,
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
    "driver.dkms-entry-stale",
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
# Of containers and WSL only what keeps the driver away; a small /dev/shm must not hide a broken driver.
SURROUNDINGS = (
    "container.no-gpus-passed",
    "container.no-compute-capability",
    "container.device-access-lost",
    "container.selinux-denied",
    "container.driver-version-inside",
    "container.no-cgroups",
    "wsl.version-1",
    "wsl.no-dxg",
    "wsl.access-blocked",
    "wsl.linux-driver-installed",
    "wsl.host-files-incomplete",
    "wsl.no-cgroups",
    "wsl.library-too-old",
)
FABRIC = ("fabric.manager-down", "fabric.manager-mismatch", "fabric.not-ready")
MASKS = (
    "visibility.cuda-hides-all",
    "visibility.cuda-out-of-range",
    "visibility.cuda-unknown-uuid",
    "visibility.cuda-duplicates",
)

# Messages of a running driver.
CLEARED_BY_LOADING = frozenset(
    {
        "xid",
        "sxid",
        "fallen-off-bus",
        "gsp-failed",
        "gsp-wpr2",
        "rm-init-failed",
        "api-mismatch",
        "api-mismatch-module",
        "uvm-hmm",
    }
)
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


def cuda_fails(facts: Facts) -> bool:
    """Whether cuInit fails for another reason than a mask that hides all GPUs.

    Raises:
        UnknownFactError: nobody could ask libcuda.
    """
    cuda = facts.nvidia.cuda
    code = known(cuda.code)
    return code not in (0, None) and not (code == CUDA_NO_DEVICE and cuda.unmasked_code == 0)


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


def alike_cards(facts: Facts) -> Iterator[tuple[About, OnCard]]:
    """One card of each model: what is wrong with a model is one finding, however many of it are there."""
    found: dict[str, list[PciDevice]] = {}
    for card in cards_of(facts, "nvidia"):
        found.setdefault(card.device, []).append(card)
    for cards in found.values():
        ill = [card for card in cards if not works(facts, card)]
        one = (ill or cards)[0]
        about = About(label=f"the GPU at {one.address}", gpu=one.address if len(cards) == 1 else None)
        yield about, OnCard(facts, one)


def model_name(on: OnCard) -> str:
    """For people: "The GPU at 0000:01:00.0 (GM204) and 1 more like it"."""
    more = sum(c.device == on.card.device and not works(on.facts, c) for c in cards_of(on.facts, "nvidia")) - 1
    return f"{card_name(on.card)}{f' and {more} more like it' if more > 0 else ''}"


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
    """The log's messages of these kinds; empty where no log could be read.

    What the running driver tells of a GPU counts since that driver was loaded: loading it anew starts with a clean
    GPU. What it tells while it looks for GPUs stands before the line that says that it is loaded.
    """
    found = facts.log.events
    if isinstance(found, Unknown):
        return ()
    last = max((i for i, event in enumerate(found) if event.kind == "nvidia-loaded"), default=-1)
    return tuple(e for i, e in enumerate(found) if e.kind in kinds and (i > last or e.kind not in CLEARED_BY_LOADING))


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


class OnAddress(NamedTuple):
    """One NVIDIA GPU by its PCI address: as NVML lists it, as PCI shows it, or only as the log names it."""

    facts: Facts
    address: str
    gpu: Gpu | None
    card: PciDevice | None

    @property
    def name(self) -> str:
        """For people: "GPU 0 (NVIDIA A10) at 0000:01:00.0"."""
        if self.gpu is not None:
            return f"{gpu_name(self.gpu)} at {self.address}"
        return card_name(self.card) if self.card is not None else f"The GPU at {self.address}"

    @property
    def number(self) -> str:
        """What nvidia-smi -i takes: the index, else the address."""
        return str(self.gpu.index) if self.gpu is not None else self.address

    def xids(self, *codes: int) -> tuple[Event, ...]:
        """This GPU's Xids since the driver was loaded, unless the driver says that the GPU has recovered."""
        return () if self.gpu is not None and reset_since(self.gpu) else xids(self.facts, self.address, *codes)

    def events(self, *kinds: str) -> tuple[Event, ...]:
        """The log's messages about this GPU; those that name no GPU count where there is only one."""
        found, alone = events(self.facts, *kinds), len(cards_of(self.facts, "nvidia")) <= 1
        return tuple(e for e in found if e.gpu == self.address or (e.gpu is None and alone))

    @property
    def answers(self) -> bool:
        """Whether NVML lists it and it answers."""
        return self.gpu is not None and self.gpu.status == "ok"


def nvidia_addresses(facts: Facts) -> Iterator[tuple[About, OnAddress]]:
    """Each NVIDIA GPU that NVML lists, that PCI shows, or that has fallen off and is named by the log alone."""
    gpus = {gpu_key(g): g for g in gpus_of(facts, "nvidia")}
    cards = {c.address: c for c in cards_of(facts, "nvidia")}
    named = {e.gpu: None for e in events(facts, "xid", "fallen-off-bus") if e.gpu}
    if has_dxg(facts) and not gpus:
        return
    for address in dict.fromkeys([*gpus, *cards, *named]):
        gpu = gpus.get(address)
        label = f"GPU {gpu.index}" if gpu is not None else f"the GPU at {address}"
        yield About(label=label, gpu=address), OnAddress(facts, address, gpu, cards.get(address))


def reset_commands(on: OnAddress) -> tuple[str, ...]:
    """The commands that reset one GPU: nobody may hold it."""
    return ("sudo fuser -v /dev/nvidia*", f"sudo nvidia-smi --gpu-reset -i {on.number}")
