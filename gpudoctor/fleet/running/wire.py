"""How a report comes back through a launcher that only carries lines, mixed with those of others.

A node says hello before it begins, so that one that started and died is told from one that never started; then its
report in numbered lines with a checksum, so that lines of other nodes, greetings of a shell or a cut connection never
become half a report.
"""

import base64
import hashlib
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from gpudoctor.patterns import pattern

# Launchers that label lines cut long ones; Slurm's and ssh's buffers hold many times this.
_WIDE = 700
# No report is larger when unpacked; what would be is no report of ours.
MOST = 64 << 20
_LINE = pattern(r"gpudoctor-fleet/1 (\S+) (hello|([0-9]+)/([0-9]+) ([0-9a-f]{16}) (\S+))\s*\Z")


class Hello(NamedTuple):
    """The node has started."""

    node: str


class Landed(NamedTuple):
    """The whole report of a node, as the bytes that it sent."""

    node: str
    data: bytes


def hello(node: str) -> str:
    """The line that a node writes first; `node` is its name in the ledger."""
    return f"gpudoctor-fleet/1 {node} hello"


def lines(node: str, data: bytes) -> Iterator[str]:
    """The lines that carry a report."""
    packed = base64.b64encode(zlib.compress(data, 6)).decode()
    total = hashlib.sha256(data).hexdigest()[:16]
    parts = [packed[at : at + _WIDE] for at in range(0, len(packed), _WIDE)]
    for number, part in enumerate(parts, 1):
        yield f"gpudoctor-fleet/1 {node} {number}/{len(parts)} {total} {part}"


class Assembler:
    """Puts the reports of many nodes together again; feed it every line that comes back."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, str], dict[int, str]] = {}

    def feed(self, text: str) -> Hello | Landed | None:
        """What this line completes; None: nothing, or it is none of ours."""
        start = text.find("gpudoctor-fleet/1 ")  # a launcher may have put a label before it
        found = _LINE.match(text[start:]) if start >= 0 else None
        if not found:
            return None
        node, what, number, count, total, part = found.groups()
        if what == "hello":
            return Hello(node)
        parts = self._parts.setdefault((node, total), {})
        parts[int(number)] = part
        if len(parts) < int(count):
            return None
        data = _unpacked("".join(parts[n] for n in sorted(parts)), total)
        self.forget(node)
        return None if data is None else Landed(node, data)

    def forget(self, node: str) -> None:
        """Let go of what a node sent in part."""
        for key in [key for key in self._parts if key[0] == node]:
            del self._parts[key]

    def half(self, node: str) -> bool:
        """Whether a part of this node's report is here."""
        return any(key[0] == node for key in self._parts)


def _unpacked(packed: str, total: str) -> bytes | None:
    try:
        data = zlib.decompressobj().decompress(base64.b64decode(packed, validate=True), MOST)
    except (ValueError, zlib.error):
        return None
    return data if hashlib.sha256(data).hexdigest()[:16] == total else None
