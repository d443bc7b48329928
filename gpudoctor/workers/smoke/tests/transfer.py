"""`transfer`: do bytes get to the device and back unchanged, and how fast, from pinned and from pageable memory?

The recipe is nvbandwidth's (https://github.com/NVIDIA/nvbandwidth): four copies that do not count, sixteen queued per
sample, three samples, the process on the CPUs next to the GPU. The bytes are random, because some links and drivers
compress zeros.
"""

from __future__ import annotations

import time

from ..cpu_affinity import near
from ..runner import Unsupported
from ..timing import median

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..backends.base import Transfer
    from ..runner import Bench

MIB = 1 << 20
LARGE, SMALL, ON_CPU = 256 * MIB, 64 * MIB, 32 * MIB
LITTLE = 2 << 30  # bytes of free memory under which the small buffer is taken
TRIES = (256 * MIB, 64 * MIB, 16 * MIB, 4 * MIB)  # of pinned memory, which a container or WSL may grant less of
WARM_UP, WARM_SECONDS = 4, 0.1  # copies, and seconds after which a link that slept has trained up
COPIES, SAMPLES = 16, 3
SINGLE = 5  # copies of pageable memory, one by one
PIECE = 0.05  # seconds of copies that are queued at once, so that the run can be ended
METHOD = "median of %d times %d queued copies of %d MiB"
ONE_BY_ONE = "median of %d copies of %d MiB, one by one"
# Pieces apart from one another: a page, a byte, odd lengths, and offsets that are no multiple of anything.
PIECES = (
    (0, 4096),
    (8191, 1),
    (12289, 4097),
    (65537, 65535),
    (1 * MIB + 1, MIB - 3),
    (3 * MIB - 2, 4),
    (3 * MIB + 513, 99),
)


def run(bench: Bench) -> None:
    """Test copies in both directions."""
    with bench.test("transfer"), near(bench):
        size = buffer(bench)
        if bench.backend.kind == "cpu":
            _on_the_cpu(bench, size)
        else:
            _over_the_link(bench, size)


def buffer(bench: Bench) -> int:
    """The bytes that are copied.

    Raises:
        MemoryError: there is room for too little.
    """
    if bench.backend.kind == "cpu":
        return ON_CPU
    most = LARGE if bench.backend.free() >= LITTLE else SMALL
    size = min(most, bench.budget() // 2) // MIB * MIB
    if size < TRIES[-1]:
        raise MemoryError("only %d MiB of memory may be used, too little for a copy" % (bench.budget() // MIB))
    return size


def _on_the_cpu(bench: Bench, size: int) -> None:
    transfer = bench.backend.transfer(size, False)
    bench.note(size=size, pinned=None, pinned_refused=None, **_checked(bench, transfer))
    _single(bench, "copy", transfer.to_device, size)


def _over_the_link(bench: Bench, size: int) -> None:
    transfer, refused = pinned(bench, size)
    found = {"differing": 0, "pieces_differing": 0}
    bench.note(size=transfer.size if transfer else size, pinned=transfer.pinned if transfer else None)
    bench.note(pinned_refused=refused)
    if transfer:
        _add(found, _checked(bench, transfer))
        _queued(bench, "h2d pinned", transfer.to_device, transfer.size)
        _queued(bench, "d2h pinned", transfer.to_host, transfer.size)
        size, transfer = transfer.size, None  # what is pinned is nobody else's: it goes back before more is taken
    try:
        pageable = bench.backend.transfer(size, False)
    except Unsupported:
        if refused:
            raise
        bench.note(**found)
        return
    _add(found, _checked(bench, pageable))
    bench.note(**found)
    _single(bench, "h2d pageable", pageable.to_device, size)
    _single(bench, "d2h pageable", pageable.to_host, size)


def pinned(bench: Bench, size: int) -> tuple[Transfer | None, str | None]:
    """Copies from pinned memory, of a smaller buffer where so much is refused; None, and a sentence that says why."""
    words = ""
    for tried in [size] + [t for t in TRIES if t < size]:
        try:
            return bench.backend.transfer(tried, True), None
        except Unsupported as reason:
            return None, str(reason)
        except Exception as error:
            if not _refusal(bench, error):
                raise
            words = str(error).strip() or type(error).__name__
    return None, "Not even %d MiB of host memory can be pinned: %s" % (tried // MIB, words)


def _refusal(bench: Bench, error: Exception) -> bool:
    """Whether an error says that memory cannot be pinned; cudaErrorOperatingSystem and cudaErrorNotSupported too."""
    kind = bench.backend.kind_of(error)
    words = str(error)
    return kind == "out-of-memory" or (kind == "other" and ("OS call failed" in words or "not supported" in words))


def _checked(bench: Bench, transfer: Transfer) -> dict[str, int]:
    """Bytes that differ after the way there and back: of all at once, and of pieces.

    Zeros come first, so that a copy that is lost leaves zeros and not the bytes of the one before.
    """
    transfer.fill(1)
    transfer.clear()
    bench.backend.synchronize()
    transfer.to_device()
    transfer.to_host()
    bench.backend.synchronize()
    differing = transfer.differing()
    bench.pause()
    transfer.clear()
    bench.backend.synchronize()
    ends = ((transfer.size - 4097, 4097),)
    return {
        "differing": int(differing),
        "pieces_differing": sum(int(transfer.piece(offset, length)) for offset, length in PIECES + ends),
    }


def _add(found: dict[str, int], more: dict[str, int]) -> None:
    for name in found:
        found[name] += more[name]


def _queued(bench: Bench, name: str, copy: Callable[[], Any], size: int) -> None:
    """Measure copies that are queued one behind the other."""
    begun = time.monotonic()
    once, done = bench.backend.elapsed(copy, 1), 1
    while done < WARM_UP or time.monotonic() - begun < WARM_SECONDS:
        bench.pause()
        once, done = bench.backend.elapsed(copy, 1), done + 1
    begun = time.monotonic()
    rates = [1e-9 * size / _sample(bench, copy, max(1, int(PIECE / max(once, 1e-6)))) for _ in range(SAMPLES)]
    bench.timed(begun, time.monotonic())
    bench.figure(name, median(rates), "GB/s", METHOD % (SAMPLES, COPIES, size // MIB), rates)


def _sample(bench: Bench, copy: Callable[[], Any], together: int) -> float:
    """The seconds of one of the copies of a sample, of which so many are queued together."""
    seconds, left = 0.0, COPIES
    while left:
        bench.pause()
        times = min(together, left)
        seconds += times * bench.backend.elapsed(copy, times)
        left -= times
    return seconds / COPIES


def _single(bench: Bench, name: str, copy: Callable[[], Any], size: int) -> None:
    """Measure copies one by one, each waited for, by the host's clock."""
    copy()
    bench.backend.synchronize()
    rates, first = [], time.monotonic()
    for _ in range(SINGLE):
        bench.pause()
        begun = time.perf_counter()
        copy()
        bench.backend.synchronize()
        rates.append(1e-9 * size / (time.perf_counter() - begun))
    bench.timed(first, time.monotonic())
    bench.figure(name, median(rates), "GB/s", ONE_BY_ONE % (SINGLE, size // MIB), rates)
