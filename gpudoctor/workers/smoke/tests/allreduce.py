"""`allreduce`: do all GPUs reach the same exact sum, and how fast?

The bus rate is nccl-tests' (its doc/PERFORMANCE.md): bytes over seconds times 2 (n - 1) / n, which is what each link
carries when n ranks sum around a ring.
"""

from __future__ import annotations

from ..timing import median
from .peer import MIB, enough, room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..runner import Bench

ON_GPUS, ON_CPU = 256 * MIB, 4 * MIB  # bytes; 256 MiB reach nine tenths of what 16 GiB reach


def run(bench: Bench) -> None:
    """Test sums over all devices, or on the CPU over two processes."""
    with bench.test("allreduce"):
        on_cpu = bench.backend.kind == "cpu"
        if not on_cpu:
            enough(bench, "All-reduce")
        size = ON_CPU if on_cpu else min(ON_GPUS, room(bench))
        found = bench.backend.allreduce(size, bench.pause)
        rates = [bus_rate(found["bytes"], each, found["ranks"]) for each in found["seconds"]]
        method = "%d MiB of float32, the slowest rank of each" % (found["bytes"] // MIB)
        bench.figure("time", median(found["seconds"]), "s", method, found["seconds"])
        bench.figure("bus rate", median(rates), "GB/s", "bytes / s x 2 (n - 1) / n", rates)
        bench.note(**{name: found[name] for name in ("ranks", "transport", "wrong", "bytes")})


def bus_rate(size: int, seconds: float, ranks: int) -> float:
    """What each link carried, in GB/s.

    Args:
        size: bytes that each rank brought.
        seconds: of one sum.
        ranks: how many.
    """
    return size / seconds * 2 * (ranks - 1) / ranks / 1e9
