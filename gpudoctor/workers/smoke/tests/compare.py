"""`compare`: how long do the same pieces of work take on this device, from small to large?

It runs on the CPU and on the GPU, each in a process of its own; gpudoctor.report.cpu_gpu puts the two next to each
other. All of it is float32, and ends within BUDGET: what was not reached is noted.
"""

from __future__ import annotations

import os
import time

from ..backends.base import OPERAND_BYTES, RESULT_BYTES
from ..backends.cpu import threads
from ..timing import measure, median
from ..weights import SMALL, Weights
from .matmul import HOST_BYTES
from .mnist import weights

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..backends.loading import Loading
    from ..runner import Bench

BUDGET = 30.0  # seconds of one backend on one device, with importing the framework
SHORT = (0.1, 0.3)  # seconds of batches that are enough, and after which none is begun
# A GPU's power is the driver's average over up to a second (nvmlDeviceGetPowerUsage), so the largest matmul goes on.
HELD = 2.5  # seconds
CALLS = 5  # a measurement takes about so many times the one call: the first, warming up, batches
SIZES = (64, 128, 256, 512, 1024, 2048, 4096)
# The network of a first exercise: so many samples; a step sees some of them, or all.
SAMPLES, STEPS, RATE = 10_000, 100, 0.1
STEP_SAMPLES = (10, 100, 1000, 10_000)
WARM_STEPS, REPEATS = 5, 3
BATCHES = (1, 4, 16, 64, 256, 1024, 4096)
# Bytes that the layers' results take of one digit, with the windows of convolutions that NumPy writes out.
DIGIT_BYTES = 300_000
WORKERS = (0, 2, 4, 8)
LOADED, STARTED = 0.6, 0.5  # seconds that batches are loaded for, and that workers take to start


def run(bench: Bench) -> None:
    """Measure all parts, each in its share of the time."""
    end = time.monotonic() + float(bench.task.get("budget") or BUDGET) - bench.spent
    parts: list[tuple[str, float, Callable[[Bench, float], None]]] = [
        ("matmul", 3, _matmul),
        ("training", 3, _training),
        ("inference", 3, _inference),
    ]
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None  # of others: our own work has not begun
    operations, loading = bench.backend.operations(), bench.backend.loading()
    if operations:
        parts.append(("arrays", 1, lambda bench, until: _arrays(bench, operations, until)))
    if loading is not None:
        parts.append(("loading", 3, lambda bench, until: _loading(bench, loading, until)))
    for place, (name, weight, part) in enumerate(parts):
        left = max(0.0, end - time.monotonic())
        until = time.monotonic() + left * weight / sum(other for _, other, _ in parts[place:])
        with bench.test("compare", name), bench.backend.precision("fp32"):
            bench.note(load=load, cores=threads())
            part(bench, until)


def _sweep(
    bench: Bench, sizes: Sequence[int], until: float, calls: float, power: int, measured: Callable[[int], float]
) -> int | None:
    """Measure one size after the other; one that is not likely to end in time is noted, with all larger ones.

    Args:
        bench: what the test works with.
        sizes: ascending.
        until: when it should be over (time.monotonic).
        calls: how many times the seconds that `measured` returns one measurement takes.
        power: with which power of the size the work grows.
        measured: measures one, and returns its seconds.

    Returns:
        The largest that was measured.
    """
    last, seconds = None, 0.0
    for place, size in enumerate(sizes):
        bench.pause()
        likely = calls * seconds * (size / last) ** power if last else 0.0
        if time.monotonic() + likely > until:
            bench.note(not_reached=", ".join(str(one) for one in sizes[place:]))
            break
        last, seconds = size, measured(size)
        bench.progress((place + 1) / len(sizes))
    return last


def _tell(bench: Bench, name: str, size: int, unit: str, samples: Sequence[float], method: str) -> None:
    bench.figure("%s %d" % (name, size), median(samples), unit, method, samples)


def _room(bench: Bench, sizes: Sequence[int], device: Callable[[int], int], host: Callable[[int], int]) -> list[int]:
    """The sizes for which both memories have room; the others are noted."""
    memory, own = bench.budget(), bench.host_budget()
    fitting = [size for size in sizes if device(size) <= memory and host(size) <= own]
    if len(fitting) < len(sizes):
        bench.note(no_room=", ".join(str(size) for size in sizes if size not in fitting))
    return fitting


def _matmul(bench: Bench, until: float) -> None:
    """Matmuls of N x N on the device; on a GPU also from the host's memory and back to it."""
    backend, gpu = bench.backend, bench.backend.kind != "cpu"
    each = 2 * (2 * OPERAND_BYTES["fp32"] + RESULT_BYTES["fp32"])
    calls: list[Callable[[], Any]] = []

    def measured(size: int) -> float:
        values = [backend.host.normal(size, size, seed) for seed in (4, 5)]
        a, b = (backend.operand(value, "fp32", side)[0] for value, side in zip(values, "ab"))
        calls[:] = [backend.multiply(a, b, "fp32")]
        samples = measure(bench, calls[0], *SHORT)
        _tell(bench, "time", size, "s", samples.seconds, "matmul N x N, operands on the device")
        if not gpu:
            return samples.median
        there_and_back = measure(bench, backend.round_trip(*values), *SHORT)
        how = "operands copied from pageable memory, matmul, result copied back"
        _tell(bench, "with copies", size, "s", there_and_back.seconds, how)
        return max(samples.median, there_and_back.median)

    sizes = _room(bench, SIZES, lambda n: n * n * each, lambda n: n * n * HOST_BYTES)
    held = min(HELD, (until - time.monotonic()) / 2) if gpu else 0.0
    largest = _sweep(bench, sizes, until - held, CALLS, 3, measured)
    if gpu and largest:
        rates = [2e-12 * largest**3 / s for s in measure(bench, calls[0], held, held).seconds]
        bench.note(size=largest)
        bench.figure("sustained", median(rates), "TFLOP/s", "the largest matmul for seconds", rates)


def _training(bench: Bench, until: float) -> None:
    """STEPS steps of a network of 100 features, 50 hidden units and 10 classes; the samples are on the device."""
    backend = bench.backend
    samples = backend.host.normal(SAMPLES, 100, 8)
    labels = bytes(samples[:, :10].argmax(1).tolist())
    network = backend.network(Weights(SMALL), samples, labels)
    before = network.loss()

    def measured(size: int) -> float:
        step = network.train(size, RATE, 0)
        seconds: list[float] = []
        backend.elapsed(step, WARM_STEPS)
        while len(seconds) < REPEATS and (not seconds or time.monotonic() + seconds[-1] < until):
            bench.pause()
            seconds.append(backend.elapsed(step, STEPS) * STEPS)
        _tell(bench, "time", size, "s", seconds, "%d training steps, samples on the device" % STEPS)
        return min(seconds)

    bench.note(loss_before=before)
    if _sweep(bench, STEP_SAMPLES, until, 1.2, 1, measured) == SAMPLES:  # steps on a few samples learn those alone
        bench.note(loss_after=network.loss())


def _inference(bench: Bench, until: float) -> None:
    """Forward passes of the network of digits."""
    backend = bench.backend
    images, labels = bench.digits()
    sizes = _room(bench, BATCHES, lambda n: n * DIGIT_BYTES, lambda _: 0)
    copies = -(-max(sizes, default=0) // len(labels))
    network = backend.network(weights(bench), images * copies, labels * copies)

    def measured(size: int) -> float:
        samples = measure(bench, network.predict(size), *SHORT)
        _tell(
            bench, "rate", size, "images/s", [size / s for s in samples.seconds], "forward passes, batch on the device"
        )
        return samples.median

    _sweep(bench, sizes, until, CALLS, 1, measured)


def _arrays(bench: Bench, operations: dict[str, Callable[[], Any]], until: float) -> None:
    """Usual operations on arrays of a million numbers."""
    left = [name for name in operations if not _reached(bench, name, operations[name], until)]
    if left:
        bench.note(not_reached=", ".join(left))


def _reached(bench: Bench, name: str, call: Callable[[], Any], until: float) -> bool:
    if time.monotonic() > until:
        return False
    samples = measure(bench, call, *SHORT)
    bench.figure(name, samples.median, "s", "1000 x 1000 in float32, arrays on the device", samples.seconds)
    return True


def _loading(bench: Bench, loading: Loading, until: float) -> None:
    """A training step alone, then with batches that the loader brings, in each way."""
    step = measure(bench, loading.step, *SHORT)
    bench.figure("step", step.median, "s", "training step, batch on the device already", step.seconds)
    bench.note(batch=loading.batch)
    if not loading.most:
        bench.note(no_room="workers")
    left = []
    for workers, pinned, non_blocking in _ways(bench.backend.kind != "cpu", loading.most):
        label = ", ".join(
            ["%d workers" % workers, *["pinned"] * pinned, *["non-blocking"] * non_blocking],
        )
        if time.monotonic() + LOADED + STARTED * bool(workers) > until:
            left.append(label)
            continue
        bench.begin("compare", "loading, " + label)
        seconds = loading.loaded(workers, pinned, non_blocking, LOADED, bench.pause)
        rates = [loading.batch / s for s in seconds]
        bench.figure(label, median(rates), "images/s", "loaded, copied and trained with", rates)
    if left:
        bench.note(not_reached="; ".join(left))


def _ways(gpu: bool, most: int) -> list[tuple[int, bool, bool]]:
    """Workers, pinned, non-blocking; without a GPU nothing is copied, so workers alone differ."""
    copies = [(False, False), (True, False), (False, True), (True, True)] if gpu else [(False, False)]
    return [(workers, *copy) for workers in WORKERS if workers <= most for copy in copies]
