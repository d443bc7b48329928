"""`data-parallel`: are a split batch's averaged gradients those of one device, and do all replicas stay equal?

The mean of equal parts' mean gradients is the mean gradient of the whole batch, so both sides differ by the order of
float32's additions alone: each is off float64 by 2e-6 (`mnist`). What every replica received is compared, and after the
step its weights with those of the others, bit for bit: an all-reduce gives every rank the same bits, or replicas drift.

Where the average is wrong, one device computes each part's gradient too, and least squares say how often each counts:
0 was lost, 2 came twice, all n are a sum that nobody divided.
"""

from __future__ import annotations

from ..timing import median
from ..weights import Batch
from . import mnist
from .peer import enough

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..runner import Bench
    from ..weights import Weights

CPU_REPLICAS = 2
TIMED, WARM, QUEUED, TIMES = 2048, 5, 5, 4  # images of each device; steps, as in ddp_rank.py


def run(bench: Bench) -> None:
    """Take one step on all devices, or on the CPU on two of its parts, in float32."""
    with bench.test("data-parallel"), bench.backend.precision("fp32"):
        on_cpu = bench.backend.kind == "cpu"
        count = CPU_REPLICAS if on_cpu else enough(bench, "Data-parallel training")
        step, others = _Step(bench, mnist.weights(bench), count), 0
        while step.unsure and others < len(mnist.OTHER_SEEDS):
            bench.pause()
            first = mnist.weights_of(bench, mnist.OTHER_SEEDS[others])
            step, others = _Step(bench, first, count), others + 1
        step.tell()
        bench.note(other_weights=others)
        if step.seconds:
            _compare_times(bench, step, count)


class _Step:
    """A step on all devices, next to the whole batch on one."""

    def __init__(self, bench: Bench, first: Weights, count: int) -> None:
        self.bench, self.count = bench, count
        every = Batch(first, *bench.digits())
        self.parts = [every.part(number, count) for number in range(count)]
        self.batch = Batch(every.first, b"".join(p.images for p in self.parts), b"".join(p.labels for p in self.parts))
        backend, rate = bench.backend, mnist.RATE
        timed = 0 if backend.kind == "cpu" else TIMED
        bench.progress(0.1)  # replicas take their time to meet, and silence counts as a hang
        found = backend.data_parallel(self.batch, count, rate, timed, bench.pause)
        bench.progress(0.7)
        self.transport, self.seconds = found["transport"], found["seconds"]
        self.gradients, self.weights = found["gradients"], found["weights"]
        self.alone = _alone(bench, self.batch)
        self.errors = [mnist.relative(bench, one, self.alone) for one in self.gradients]

    @property
    def unsure(self) -> bool:
        """Whether the gradients are so little off that rounding may have decided."""
        return mnist.CLEAN < max(map(max, self.errors)) < mnist.UNSURE

    def tell(self) -> None:
        """The figures, and where they are wrong, which replica is to blame."""
        bench, names = self.bench, self.batch.first.names
        worst = max(range(self.count), key=lambda rank: max(self.errors[rank]))
        parameter = max(range(len(names)), key=self.errors[worst].__getitem__)
        error = self.errors[worst][parameter]
        bench.figure("gradient error", error, "ratio", "worst parameter of all replicas, against one device")
        bench.figure("step error", max(self._step_errors()), "ratio", "of the change of the weights, worst replica")
        bench.note(ranks=self.count, transport=self.transport, worst_gradient=names[parameter], worst_rank=worst)
        numbers, best = self._differing()
        ranks = " ".join(str(rank) for rank, number in enumerate(numbers) if number)
        bench.note(differing=sum(numbers), differing_ranks=ranks)
        if bench.task.get("numbers"):
            bench.note(devices=" ".join(bench.task["numbers"]))
        if error > mnist.CLEAN:
            shares, left = self._shares(self.gradients[best])
            bench.note(shares=" ".join("%.3g" % share for share in shares), unexplained=left)

    def _step_errors(self) -> list[float]:
        """How far each replica's weights are from those before, less the rate times what it received."""
        host, first = self.bench.backend.host, self.batch.first
        before = [host.double(host.floats(data, shape)) for data, shape in zip(first.buffers, first.shapes)]
        return [
            mnist.step_error(self.bench, before, after, slopes) for after, slopes in zip(self.weights, self.gradients)
        ]

    def _differing(self) -> tuple[list[int], int]:
        """How many weights of each replica differ from those of the one with the best gradients; and which that is."""
        best = min(range(self.count), key=lambda rank: max(self.errors[rank]))
        numbers = [
            sum(int((one != other).sum()) for one, other in zip(replica, self.weights[best]))
            for replica in self.weights
        ]
        return numbers, best

    def _shares(self, average: list[Any]) -> tuple[list[float], float]:
        """How often each part's gradient counts in an average, and the relative norm of what they do not explain."""
        parts = [_alone(self.bench, part) for part in self.parts]
        matrix = [[_product(one, other) for other in parts] for one in parts]
        shares = solved(matrix, [self.count * _product(one, average) for one in parts])
        host, left, whole = self.bench.backend.host, 0.0, 0.0
        for at, found in enumerate(average):
            explained = sum(share * part[at] for share, part in zip(shares, parts)) / self.count
            left, whole = left + host.norm(found - explained) ** 2, whole + host.norm(found) ** 2
        return shares, (left / whole) ** 0.5 if whole else 0.0


def _alone(bench: Bench, batch: Batch) -> list[Any]:
    """The gradients of a batch on one device."""
    found: list[Any] = bench.backend.network(batch.first, batch.images, batch.labels).gradients()[1]
    return found


def _product(one: list[Any], other: list[Any]) -> float:
    return sum(float((g * h).sum()) for g, h in zip(one, other))


def solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """The solution of a positive definite system, by Gauss's elimination; zeros for what is not determined."""
    size, rows = len(right), [[*row, value] for row, value in zip(matrix, right)]
    for at in range(size):
        pivot = rows[at][at]
        if not pivot > 0:  # NaN too
            return [0.0] * size
        for below in range(at + 1, size):
            factor = rows[below][at] / pivot
            rows[below] = [a - factor * b for a, b in zip(rows[below], rows[at])]
    found = [0.0] * size
    for at in reversed(range(size)):
        known = sum(rows[at][other] * found[other] for other in range(at + 1, size))
        found[at] = (rows[at][size] - known) / rows[at][at]
    return found


def _compare_times(bench: Bench, step: _Step, count: int) -> None:
    """Images a second of all devices over those of one; each has as many in both, so that `count` is the best."""
    network, backend = bench.backend.network(step.batch.first, step.batch.images, step.batch.labels), bench.backend
    call = network.train(TIMED, mnist.RATE, 0)
    backend.elapsed(call, WARM)
    alone = [backend.elapsed(call, QUEUED) for _ in range(TIMES)]
    method = "a training step of %d images on each" % TIMED
    bench.figure("step on one", median(alone), "s", method, alone)
    bench.figure("step on all", median(step.seconds), "s", method + ", the slowest replica", step.seconds)
    bench.figure("scaling", count * median(alone) / median(step.seconds), "ratio", "images/s of all over one device")
