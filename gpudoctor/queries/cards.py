"""NVIDIA's GPUs as the bus, the driver and the log name them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from gpudoctor.check_engine import About
from gpudoctor.facts import Facts, Gpu, LogEvent, PciDevice
from gpudoctor.facts.text_types import not_run
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known, text_of
from gpudoctor.queries.kernel_log import age, events, xids
from gpudoctor.targets import OnCard, cards_of, gpu_key, gpu_name, gpus_of, has_dxg, has_rocm
from gpudoctor.tasks import Shell

if TYPE_CHECKING:
    from gpudoctor.knowledge.generations import GpuGeneration

# The drivers that reserve a card for virtual machines.
LENDERS = ("vfio-pci", "pci-stub", "pciback", "xen-pciback")
_DAY = 86400.0
_WEEK = 7 * _DAY
# NVML's recovery actions, as text.
ACTIONS = {
    "reset": "a reset",
    "reboot": "a reboot",
    "drain": "to be drained of its programs",
    "drain-and-reset": "to be drained and reset",
    "recover-imex-domain": "a recovery of its IMEX domain",
    "bus-reset": "a reset of its bus",
    "system-reboot": "a reboot",
}
# Those that a reset of the GPU does not satisfy, as NVML names them, and as Xid 154 does.
RESTARTS = ("reboot", "system-reboot", "Node Reboot Required")
# "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
_CHANGED = pattern(r"changed from .*? to 0x[0-9a-fA-F]+ \(([^)]+)\)")


def generation_of(card: PciDevice) -> "GpuGeneration | None":
    """What is known of the card's generation; None where the card is not in the tables."""
    from gpudoctor.knowledge import generations  # not on machines without a card, which need this module, too

    return generations.generation_named(card.generation) if isinstance(card.generation, str) else None


def works(facts: Facts, card: PciDevice) -> bool:
    """Whether NVML lists this card and it responds."""
    return any(g.address == card.address and g.status == "ok" for g in gpus_of(facts, "nvidia"))


def any_works(facts: Facts) -> bool:
    """Whether any NVIDIA GPU of this machine is known to work."""
    return any(g.status == "ok" for g in gpus_of(facts, "nvidia"))


def may_serve(facts: Facts) -> bool:
    """Whether containers can be expected to get a GPU: one works, or nobody asked and NVIDIA's module is loaded.

    Under another root (--root) no driver is asked.

    Raises:
        UnknownFactError: nobody asked, and no module is known to be loaded.
    """
    if not_run(facts.gpus):
        return isinstance(known(facts.nvidia.kernel.loaded), str)
    return any_works(facts)


def card_name(card: PciDevice) -> str:
    """As text: "The GPU at 0000:01:00.0 (GM204 [GeForce GTX 970])"."""
    name = f" ({card.name})" if isinstance(card.name, str) else ""
    return f"The GPU at {card.address}{name}"


def alike_cards(facts: Facts) -> Iterator[tuple[About, OnCard]]:
    """One card of each model: what is wrong with a model is one finding, however many of it are there."""
    found: dict[str, list[PciDevice]] = {}
    for card in cards_of(facts, "nvidia"):
        found.setdefault(card.device, []).append(card)
    for cards in found.values():
        faulty = [card for card in cards if not works(facts, card)]
        one = (faulty or cards)[0]
        about = About(label=f"the GPU at {one.address}", gpu=one.address if len(cards) == 1 else None)
        yield about, OnCard(facts, one)


def model_name(on: OnCard) -> str:
    """As text: "The GPU at 0000:01:00.0 (GM204) and 1 more like it"."""
    more = sum(c.device == on.card.device and not works(on.facts, c) for c in cards_of(on.facts, "nvidia")) - 1
    return f"{card_name(on.card)}{f' and {more} more like it' if more > 0 else ''}"


def computes_elsewhere(facts: Facts) -> bool:
    """Whether programs here compute on the GPUs of AMD or Intel, and none is built for CUDA."""
    found = [f for python in facts.pythons for f in python.frameworks]
    if any(isinstance(f.cuda, str) for f in found):
        return False
    rocm = has_rocm(facts) or any(isinstance(f.hip, str) for f in found)
    xpu = any(f.variant == "xpu" for f in found)
    return bool((gpus_of(facts, "amd") and rocm) or (cards_of(facts, "intel") and xpu))


def owned_by(facts: Facts, *drivers: str) -> tuple[PciDevice, ...]:
    """The NVIDIA GPUs that these kernel drivers are bound to, in any case of letters, with - or _."""
    wanted = {d.lower().replace("-", "_") for d in drivers}
    bound = [c for c in cards_of(facts, "nvidia") if isinstance(c.driver, str)]
    return tuple(c for c in bound if text_of(c.driver).lower().replace("-", "_") in wanted)


def reset_since(gpu: Gpu) -> bool:
    """Whether the driver itself reports that the GPU no longer needs recovery (NVML's recovery action, from 570)."""
    return gpu.status == "ok" and gpu.recovery_action == "none"


class OnAddress(msgspec.Struct, frozen=True):
    """One NVIDIA GPU by its PCI address: as NVML lists it, as PCI shows it, or only as the log names it."""

    facts: Facts
    address: str
    gpu: Gpu | None
    card: PciDevice | None

    @property
    def name(self) -> str:
        """As text: "GPU 0 (NVIDIA A10) at 0000:01:00.0"."""
        if self.gpu is not None:
            return f"{gpu_name(self.gpu)} at {self.address}"
        return card_name(self.card) if self.card is not None else f"The GPU at {self.address}"

    @property
    def number(self) -> str:
        """What nvidia-smi -i takes: the index, else the address."""
        return str(self.gpu.index) if self.gpu is not None else self.address

    def xids(self, *codes: int) -> tuple[LogEvent, ...]:
        """This GPU's Xids since the driver was loaded, unless the driver reports that the GPU has recovered."""
        return () if self.gpu is not None and reset_since(self.gpu) else self.logged_xids(*codes)

    def logged_xids(self, *codes: int) -> tuple[LogEvent, ...]:
        """This GPU's Xids since the driver was loaded, of a healthy GPU, too."""
        return () if self.is_lent else xids(self.facts, self.address, *codes)

    def events(self, *kinds: str) -> tuple[LogEvent, ...]:
        """The log's messages about this GPU; those that name no GPU count where there is only one."""
        found, alone = () if self.is_lent else events(self.facts, *kinds), len(cards_of(self.facts, "nvidia")) <= 1
        return tuple(e for e in found if e.gpu == self.address or (e.gpu is None and alone))

    def passed(self, logged: tuple[LogEvent, ...]) -> bool:
        """Whether the last of these messages is more than a day old, and the GPU and CUDA have worked since."""
        seconds = age(self.facts, logged[-1]) if logged else None
        return seconds is not None and seconds > _DAY and self.answers and self.facts.nvidia.cuda.code == 0

    def is_history(self, logged: tuple[LogEvent, ...]) -> bool:
        """Whether that was more than a week ago: a user who checks today looks for something else."""
        return self.passed(logged) and (age(self.facts, logged[-1]) or 0.0) > _WEEK

    @property
    def is_lent(self) -> bool:
        """Whether a virtual machine has it now: the log's messages about it are older."""
        return self.card is not None and self.card in owned_by(self.facts, *LENDERS)

    @property
    def answers(self) -> bool:
        """Whether NVML lists it and it responds."""
        return self.gpu is not None and self.gpu.status == "ok"


def nvidia_addresses(facts: Facts) -> Iterator[tuple[About, OnAddress]]:
    """Each NVIDIA GPU that NVML lists, that PCI shows, or that has fallen off and is named by the log alone."""
    gpus = {gpu_key(g): g for g in gpus_of(facts, "nvidia")}
    cards = {c.address: c for c in cards_of(facts, "nvidia")}
    named = {e.gpu: None for e in events(facts, "xid", "fallen-off-bus", "removal-waits") if e.gpu}
    if has_dxg(facts) and not gpus:
        return
    for address in dict.fromkeys([*gpus, *cards, *named]):
        gpu = gpus.get(address)
        label = f"GPU {gpu.index}" if gpu is not None else f"the GPU at {address}"
        yield About(label=label, gpu=address), OnAddress(facts, address, gpu, cards.get(address))


def required_action(on: OnAddress) -> str | None:
    """What the driver requires before the GPU works again, as NVML names it ("reset", "drain"; from 570 on).

    Else as the last Xid 154 does ("GPU Reset Required"); None where neither requires anything.
    """
    action = on.gpu.recovery_action if on.gpu is not None else None
    if isinstance(action, str):
        return action if action in ACTIONS else None
    logged = [found[1] for e in on.xids(154)[-1:] if (found := _CHANGED.search(e.text))]
    return logged[0] if logged and logged[0].lower() != "none" else None


# The list alone stops nothing.
THEN = "End what fuser lists: kill PID, or stop its service."
USERS = Shell("fuser -v /dev/nvidia*", root=True, lookup=True, note=THEN)
