"""`peer`: does what one GPU copies to another arrive, and how fast?

The content comes first: an IOMMU or the PCIe switches' access control can let copies pass that the driver calls
possible, and lose their bytes.
"""

from __future__ import annotations

import time

from ..runner import Unsupported
from ..timing import median

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..runner import Bench

MIB = 1 << 20
CHECKED, TIMED, LEAST = 64 * MIB, 256 * MIB, MIB  # bytes of a copy
ROUNDS, COPIES = 3, 8  # copies queued at once
LONGEST = 0.05  # seconds of them
MOST = 56  # ordered pairs of eight GPUs; with more GPUs each copies to the next
TWO = 2


def run(bench: Bench) -> None:
    """Test the ordered pairs of devices."""
    bench.begin("peer")
    count = enough(bench, "GPU-to-GPU copy")
    names = bench.task.get("numbers") or range(count)
    for source, target in pairs(count):
        with bench.test("peer", "%s-%s" % (names[source], names[target])):
            _one(bench, source, target)


def enough(bench: Bench, what: str) -> int:
    """How many devices there are.

    Args:
        bench: what the test works with.
        what: needs two of them, for the sentence.

    Raises:
        Unsupported: there are fewer than two.
    """
    count = bench.backend.peers()
    if count < TWO:
        raise Unsupported("%s needs two GPUs, and %s sees %d." % (what, bench.backend.name, count))
    return count


def room(bench: Bench) -> int:
    """The bytes of one buffer of several, in whole MiB.

    Raises:
        MemoryError: there is room for too little.
    """
    found = bench.budget() // 4 // MIB * MIB
    if found < LEAST:
        raise MemoryError(
            "only %d MiB of memory may be used, too little for buffers on several GPUs" % (bench.budget() // MIB)
        )
    return found


def pairs(count: int) -> list[tuple[int, int]]:
    """All ordered pairs of so many devices, or where they are too many a ring."""
    if count * (count - 1) > MOST:
        return [(at, (at + 1) % count) for at in range(count)]
    return [(source, target) for source in range(count) for target in range(count) if source != target]


def _one(bench: Bench, source: int, target: int) -> None:
    most = room(bench)
    checked = bench.backend.peer(source, target, min(CHECKED, most))
    checked.copy()
    bench.note(can_access=checked.can_access, differing=checked.differing())
    del checked
    bench.pause()
    size = min(TIMED, most)
    bench.note(size=size)
    rates = [size / each / 1e9 for each in _timed(bench, bench.backend.peer(source, target, size))]
    bench.figure("rate", median(rates), "GB/s", "copies of %d MiB, queued" % (size // MIB), rates)


def _timed(bench: Bench, peer: Any) -> list[float]:
    """Seconds of one copy in each round."""
    _seconds(peer, 1)  # it opens the way
    copies = max(1, min(COPIES, int(LONGEST / _seconds(peer, 1))))
    found, begun = [], time.monotonic()
    for _ in range(ROUNDS):
        bench.pause()
        found.append(_seconds(peer, copies))
    bench.timed(begun, time.monotonic())
    return found


def _seconds(peer: Any, copies: int) -> float:
    begun = time.perf_counter()
    for _ in range(copies):
        peer.copy()
    peer.wait()
    return (time.perf_counter() - begun) / copies
