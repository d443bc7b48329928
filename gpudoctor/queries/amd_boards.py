"""AMD's cards: each once, however many partitions it has, with its log messages."""

from collections.abc import Iterator

import msgspec

from gpudoctor.check_engine import About
from gpudoctor.facts import Facts, Gpu, LogEvent, PciDevice
from gpudoctor.facts.amd import Board
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.kernel_log import events
from gpudoctor.targets import amd_compute, cards_of, gpus_of, has_nvidia

# Data center products with HBM, whose links and partitions the node's vendor has fixed (MI300, MI350 series).
WHOLE_HIVES = ("gfx942", "gfx950")
# What amdgpu logs of a GPU that fails, under any program.
_FAILURES = ("amdgpu-ring-timeout", "amdgpu-reset", "amdgpu-lost", "amdgpu-ras", "amdgpu-bad-pages", "kfd-hang")
INSTINCT = ("gfx908", "gfx90a", *WHOLE_HIVES)


class OnBoard(msgspec.Struct, frozen=True):
    """One AMD card by its PCI address: what the bus shows, what amdgpu reports, and its GPUs in KFD.

    `board` is None where amdgpu is not bound to the card, `gpus` is empty where KFD does not list it.
    """

    facts: Facts
    card: PciDevice
    board: Board | None
    gpus: tuple[Gpu, ...]

    @property
    def address(self) -> str:
        """The PCI address."""
        return self.card.address

    @property
    def name(self) -> str:
        """For people: "GPU 0 (Radeon RX 7900 XTX)", "The GPU at 0000:03:00.0 (Navi 48)"."""
        if self.gpus:
            first, last = self.gpus[0], self.gpus[-1]
            number = f"GPU {first.index}" if first is last else f"GPU {first.index} to {last.index}"
            return f"{number} ({known_or(first.name, 'AMD')})"
        name = known_or(self.card.name, None)
        return f"The GPU at {self.address}{f' ({name})' if name else ''}"

    @property
    def within(self) -> str:
        """The same name in the midst of a sentence."""
        return self.name if self.gpus else f"the{self.name.removeprefix('The')}"

    @property
    def gfx(self) -> str | None:
        """The gfx target, where it is known."""
        own = known_or(self.gpus[0].gfx, None) if self.gpus else None
        return own or known_or(self.card.gfx, None)


def all_boards(facts: Facts) -> tuple[OnBoard, ...]:
    """AMD's cards on the bus.

    Raises:
        UnknownFactError: what amdgpu reports could not be read.
    """
    cards = cards_of(facts, "amd")
    logged = {board.address: board for board in known(facts.amd.boards)} if cards else {}
    gpus = gpus_of(facts, "amd")
    return tuple(
        OnBoard(facts, card, logged.get(card.address), tuple(g for g in gpus if g.address == card.address))
        for card in cards
    )


def boards(facts: Facts) -> Iterator[tuple[About, OnBoard]]:
    """Each AMD card that amdgpu is bound to, where it is meant for compute."""
    for _ in amd_compute(facts):
        for on in all_boards(facts):
            if on.board is not None:
                yield about(on), on


def boards_of_programs(facts: Facts) -> Iterator[tuple[About, OnBoard]]:
    """The same, and without ROCm where they are the only GPUs: whatever computes here computes on them."""
    found = tuple(boards(facts))
    if not found and no_other_vendor(facts):
        found = tuple((about(on), on) for on in all_boards(facts) if on.board is not None)
    yield from found


def logged_boards(facts: Facts) -> Iterator[tuple[About, OnBoard]]:
    """The same for checks that use only the log, and without ROCm where it has a failure of the only GPUs.

    Raises:
        UnknownFactError: it could not be read, which holds for all cards.
    """
    found = tuple(boards(facts))
    if not found and no_other_vendor(facts) and events(facts, *_FAILURES):
        found = tuple((about(on), on) for on in all_boards(facts) if on.board is not None)
    if found:
        known(facts.log.events)
    yield from found


def no_other_vendor(facts: Facts) -> bool:
    """Whether AMD's GPUs are the only ones that could be meant: programs compute on them without ROCm too (Vulkan)."""
    if not cards_of(facts, "amd") or has_nvidia(facts) or gpus_of(facts, "nvidia"):
        return False
    from gpudoctor.knowledge import intel  # each run asks this module whether there is an AMD card

    return not any(intel.family(card.device) for card in cards_of(facts, "intel"))


def about(on: OnBoard) -> About:
    """What a verdict on this card is about."""
    label = f"GPU {on.gpus[0].index}" if on.gpus else f"the GPU at {on.address}"
    return About(label=label, gpu=on.address)


def discrete(facts: Facts) -> tuple[OnBoard, ...]:
    """The cards that amdgpu is bound to and that are not integrated into a CPU."""
    return tuple(on for on in all_boards(facts) if on.board is not None and on.card.integrated is False)


def since_loaded(on: OnBoard, *kinds: str) -> tuple[LogEvent, ...]:
    """What the loaded amdgpu logged about this card; a line that names no card counts where it is the only one."""
    logged = events(on.facts, "amdgpu-loaded", *kinds)
    last = max((i for i, event in enumerate(logged) if event.kind == "amdgpu-loaded"), default=-1)
    alone = len(cards_of(on.facts, "amd")) == 1
    return tuple(
        event
        for event in logged[last + 1 :]
        if event.kind in kinds and (event.gpu == on.address or (event.gpu is None and alone))
    )


def modes(on: OnBoard) -> tuple[str, ...]:
    """How a card is partitioned: ("CPX", "NPS4"); empty where it cannot be."""
    if on.board is None:
        return ()
    found = known(on.board.compute_partition)
    return () if found is None else (found, known(on.board.memory_partition) or "")


def divided(facts: Facts) -> dict[str, list[tuple[OnBoard, tuple[str, ...]]]]:
    """The cards that can be partitioned, by model."""
    found: dict[str, list[tuple[OnBoard, tuple[str, ...]]]] = {}
    for on in all_boards(facts):
        mode = modes(on)
        if mode:
            found.setdefault(on.card.device, []).append((on, mode))
    return found
