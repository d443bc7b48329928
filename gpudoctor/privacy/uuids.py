"""UUIDs identify a machine: each gets a number instead, the same wherever it stands, in the form that drivers read."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from gpudoctor.facts import Facts
from gpudoctor.lazy_regex import pattern
from gpudoctor.privacy.tree import strings

# GPU-7d1f0b0e-1111-2222-3333-444455556666 (NVIDIA), GPU-0a1b2c3d4e5f6789 (AMD), MIG-..., disks and machines.
_UUID = pattern(
    r"(?<![0-9a-zA-Z])(?:[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|(?<=GPU-)[0-9a-f]{8}(?:-[0-9a-f]{1,4}){0,3}(?:-[0-9a-f]{1,12})?|(?<=GPU-)[0-9a-f]{16})(?![0-9a-zA-Z])"
)
# Disks are named by shorter ones too, on the kernel's command line.
_DISK = pattern(r"(?<=\bUUID=)[0-9a-fA-F-]{8,}|(?<=\bPARTUUID=)[0-9a-fA-F-]{8,}")
_VARIABLES = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
_ENTRY = pattern(r"((?:MIG-)?GPU-)([0-9a-fA-F-]*)(.*)", re.DOTALL)


class Uuids:
    """The UUIDs of one machine, numbered in the order in which its facts name them.

    Args:
        facts: of the machine.
    """

    def __init__(self, facts: Facts) -> None:
        self._numbers: dict[str, int] = {}
        self._sorted: list[str] = []  # a cut one stands before the whole
        self._next = 0
        for text in _in_order(facts):
            for found in _UUID.finditer(text):
                self._number(found[0])

    def _number(self, uuid: str) -> int:
        """The number of a UUID; one that was cut short has that of the UUID that it begins."""
        uuid = uuid.lower()
        if uuid not in self._numbers:
            place = bisect_left(self._sorted, uuid)
            following = self._sorted[place] if place < len(self._sorted) else ""
            known = self._numbers[following] if following.startswith(uuid) else None
            self._numbers[uuid] = self._next if known is None else known
            self._next += known is None
            self._sorted.insert(place, uuid)
        return self._numbers[uuid]

    def hidden(self, text: str) -> str:
        """The text with a number of the same shape for each UUID."""
        return _UUID.sub(self._instead, _DISK.sub("***", text)) if "-" in text else text

    def _instead(self, found: re.Match[str]) -> str:
        return self._like(found[0])

    def _like(self, uuid: str) -> str:
        first, dash, rest = uuid.partition("-")
        return f"{self._number(uuid):0{len(first)}x}{dash}{re.sub('[0-9a-fA-F]', '0', rest)}"

    def mask(self, key: str, hidden: str, real: str) -> str:
        """The value of a variable that chooses GPUs: there a UUID may be cut short, and still chooses its GPU.

        Args:
            key: the variable.
            hidden: its value, masked as any text.
            real: its value.
        """
        if key not in _VARIABLES or "GPU-" not in real:
            return hidden
        return ",".join(self._entry(entry) for entry in real.split(","))

    def _entry(self, entry: str) -> str:
        parts = _ENTRY.fullmatch(entry)
        if not parts or not parts[2] or _UUID.search(entry):
            return self.hidden(entry)
        begin, given, rest = parts.groups()
        fits = {number: uuid for uuid, number in self._numbers.items() if uuid.startswith(given)}
        if len(fits) == 1:
            return f"{begin}{self._like(*fits.values())}{rest}"
        return f"{begin}{'0' if fits else given}{rest}"  # all of ours begin with 0


def is_number(uuid: str) -> bool:
    """Whether this is what stands in the place of a UUID: on another machine the same number is another thing."""
    return bool(re.fullmatch(r"(GPU-|MIG-)?0{4}[0-9a-f]{4}[0-]*", uuid))


def _in_order(facts: Facts) -> Iterator[str]:
    """The GPUs first, so that GPU 0 has number 0."""
    yield from strings(facts.gpus)
    yield from strings(facts)
