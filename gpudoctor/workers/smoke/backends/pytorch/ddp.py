"""A training step of DistributedDataParallel over several devices: one process each (ddp_rank.py)."""

from __future__ import annotations

import tempfile

from .ranks import conducted, slowest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...weights import Batch
    from . import PytorchBackend

SCRIPT = __file__[: -len("ddp.py")] + "ddp_rank.py"


def data_parallel(
    backend: PytorchBackend, batch: Batch, count: int, rate: float, timed: int, pause: Callable[[], None]
) -> dict[str, Any]:
    """Let the ranks step, and read what each left; as gpudoctor/workers/smoke/backends/base.py has it."""
    first, parts = batch.first, [batch.part(number, count) for number in range(count)]
    with tempfile.TemporaryDirectory(prefix="gpudoctor-") as place:
        for number, part in enumerate(parts):
            with open("%s/batch-%d" % (place, number), "wb") as file:
                file.write(part.labels + part.images)
        more = {"kind": backend.kind, "place": place, "images": len(parts[0].labels), "seed": first.seed}
        more.update(rate=rate, timed=timed)
        reported, transport = conducted(backend, count, 0, pause, SCRIPT, "data-parallel training", **more)
        found = [_read(backend, batch, "%s/found-%d" % (place, number)) for number in range(count)]
    return {
        "transport": transport,
        "gradients": [one[: len(first.names)] for one in found],
        "weights": [one[len(first.names) :] for one in found],
        "seconds": slowest(reported),
    }


def _read(backend: PytorchBackend, batch: Batch, path: str) -> list[Any]:
    """The gradients and then the weights of a rank."""
    with open(path, "rb") as file:
        return [
            backend.host.double(backend.host.floats(file.read(len(data)), shape))
            for _ in ("gradients", "weights")
            for data, shape in zip(batch.first.buffers, batch.first.shapes)
        ]
