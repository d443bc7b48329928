"""How a report comes back through a launcher that only carries lines, mixed with those of others.

A node says hello before it begins, so that one that started and died is told from one that never started; then its
report in numbered lines with a checksum, so that lines of other nodes, greetings of a shell or a cut connection never
become half a report.
"""

import base64
import hashlib
import zlib
from collections.abc import Container, Iterator
from typing import NamedTuple
from urllib.parse import quote, unquote

from gpudoctor.lazy_regex import pattern

# Launchers that label lines cut long ones; Slurm's and ssh's buffers hold many times this. A whole line is shorter than
# PIPE_BUF (4096, pipe(7)), so that several writers to one pipe never mix theirs.
_WIDE = 700
_WIDEST = 1024  # letters of a part that anybody may send
# No report is larger when unpacked; what would be is no report of ours: eight GPUs with all smoke tests take 0.2 MiB.
MOST = 16 << 20
_AT_ONCE = 3  # reports of one node at a time: a launcher may have started it twice
_MOST_PARTS = MOST // _WIDE // 2  # packed, a report is a fifth of its size
BEGINNING = "gpudoctor-fleet/1 "
_LINE = pattern(BEGINNING + r"(\S+) (hello|([0-9]{1,6})/([0-9]{1,6}) ([0-9a-f]{16}) ([A-Za-z0-9+/=]+))\s*\Z")


class Hello(NamedTuple):
    """The node has started."""

    node: str


class Landed(NamedTuple):
    """The whole report of a node, as the bytes that it sent."""

    node: str
    data: bytes


class _Sent(NamedTuple):
    """What the parts of one report of a node have in common."""

    total: str
    parts: int


def hello(node: str) -> str:
    """The line that a node writes first; `node` is its name in the ledger."""
    return f"{BEGINNING}{quote(node, safe=':')} hello"


def lines(node: str, data: bytes) -> Iterator[str]:
    """The lines that carry a report."""
    packed = base64.b64encode(zlib.compress(data, 6)).decode()
    total = hashlib.sha256(data).hexdigest()[:16]
    parts = [packed[at : at + _WIDE] for at in range(0, len(packed), _WIDE)]
    for number, part in enumerate(parts, 1):
        yield f"{BEGINNING}{quote(node, safe=':')} {number}/{len(parts)} {total} {part}"


class Assembler:
    """Puts the reports of many nodes together again; feed it every line that comes back.

    Args:
        nodes: whose lines count; None: everybody's. What others send is not kept.
    """

    def __init__(self, nodes: Container[str] | None = None) -> None:
        self._nodes = nodes
        self._parts: dict[str, dict[_Sent, dict[int, str]]] = {}  # by node: what it sends at present
        self._spoiled: set[str] = set()

    def feed(self, text: str, node: str = "") -> Hello | Landed | None:
        """What this line completes; None: nothing, or it is none of ours.

        Args:
            text: the line, with whatever a launcher put before it.
            node: whose it is, where that is known: then the name in the line does not count, so that no node can
                speak for another.
        """
        start = text.rfind(BEGINNING)  # the last: a line that was cut may stand before it
        found = _LINE.match(text[start:]) if start >= 0 else None
        if not found:
            return None
        reported, what, number, count, total, part = found.groups()
        node = node or unquote(reported)
        if self._nodes is not None and node not in self._nodes:
            return None
        if what == "hello":
            return Hello(node)
        return self._take(node, _Sent(total, int(count)), int(number), part)

    def _take(self, node: str, sent: _Sent, number: int, part: str) -> Landed | None:
        """Keep a part; the whole report where it was the last one."""
        if not 1 <= number <= sent.parts <= _MOST_PARTS or len(part) > _WIDEST:
            return None
        begun = self._parts.setdefault(node, {})
        parts = begun.setdefault(sent, {})
        if len(begun) > _AT_ONCE:
            del begun[next(iter(begun))]
        parts[number] = part
        if len(parts) < sent.parts:
            return None
        data = _unpacked("".join(parts[n] for n in sorted(parts)), sent.total)
        if data is None:
            del begun[sent]
            self._spoiled.add(node)
            return None
        self.forget(node)
        return Landed(node, data)

    def forget(self, node: str) -> None:
        """Let go of what a node sent in part."""
        self._parts.pop(node, None)
        self._spoiled.discard(node)

    def half(self, node: str) -> bool:
        """Whether a part of this node's report is here, or was and did not fit together."""
        return bool(self._parts.get(node)) or node in self._spoiled


def _unpacked(packed: str, total: str) -> bytes | None:
    try:
        data = zlib.decompressobj().decompress(base64.b64decode(packed, validate=True), MOST)
    except (ValueError, zlib.error):
        return None
    return data if hashlib.sha256(data).hexdigest()[:16] == total else None
