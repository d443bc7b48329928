"""`inference`: how much faster does the device classify digits than the CPU, and do both say the same?

A batch of one shows what starting kernels costs, a large one what the device can do.
"""

from __future__ import annotations

import time

from ..network import ArrayNetwork
from ..runner import Unsupported
from ..timing import measure, median
from .mnist import weights

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..runner import Bench

BATCHES = (1, 256)
RUNS, SECONDS = 5, 0.15  # samples on the CPU: at least so many, and for so long
SAMPLE = 0.01  # seconds of runs that make a sample at least


def run(bench: Bench) -> None:
    """Test forward passes in fp32, and in bf16 where the backend has it."""
    for dtype in ("fp32", "bf16"):
        if bench.wants(dtype) and bench.has(dtype):
            with bench.test("inference", dtype), bench.backend.precision(dtype):
                _one(bench, dtype)


def _one(bench: Bench, dtype: str) -> None:
    images, labels = bench.digits()
    network = bench.backend.network(weights(bench), images, labels)
    if bench.backend.kind == "cpu":
        truth = bench.kept("exact logits", lambda: exact(bench))
        for batch in BATCHES:
            _tell(bench, "cpu", batch, _cpu_rates(bench, bench.backend.elapsed, network.predict(batch, dtype), batch))
    else:
        truth, beside = bench.kept("logits of the cpu", lambda: _beside(bench, network))
        for batch in BATCHES:
            _faster(bench, network.predict(batch, dtype), batch, beside.get(batch))
    bench.pause()
    found = bench.backend.values(network.predict(BATCHES[-1], dtype)())
    if truth is not None:
        host = bench.backend.host
        error = host.norm(found - truth) / host.norm(truth)
        bench.figure("error", error, "ratio", "relative norm of the outputs against the CPU's")


def exact(bench: Bench) -> Any:
    """The outputs for the large batch in float64; None where NumPy is not installed."""
    try:
        import numpy
    except ImportError:
        return None
    images, labels = bench.digits()
    return ArrayNetwork(numpy, weights(bench), images, labels, numpy.float64).predict(BATCHES[-1])()


def _beside(bench: Bench, network: Any) -> tuple[Any, dict[int, list[float]]]:
    """What the CPU says in float32, and its images a second for each batch; float64 where the framework has no CPU."""
    rates = {}
    try:
        for batch in BATCHES:
            call = network.predict_on_cpu(batch)
            rates[batch] = _cpu_rates(bench, _seconds, call, batch)
        return bench.backend.host.double(call()), rates
    except Unsupported:
        return exact(bench), {}


def _cpu_rates(bench: Bench, clock: Callable[..., float], call: Callable[[], Any], batch: int) -> list[float]:
    """Images a second on the CPU; the first run does not count. The clock tells the seconds of one of so many runs."""
    clock(call, 1)
    times = max(1, int(SAMPLE / max(clock(call, 1), 1e-9)))
    rates: list[float] = []
    begun = time.monotonic()
    while len(rates) < RUNS or time.monotonic() - begun < SECONDS:
        bench.pause()
        rates.append(batch / max(clock(call, times), 1e-9))
    return rates


def _seconds(call: Callable[[], Any], times: int) -> float:
    """The seconds of one of so many runs, which return when they are done."""
    begun = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - begun) / times


def _faster(bench: Bench, call: Callable[[], Any], batch: int, cpu: list[float] | None) -> None:
    """The device's rate, the CPU's, and their ratio."""
    samples = measure(bench, call)
    rates = [batch / s for s in samples.seconds]
    _tell(bench, "gpu", batch, rates)
    if cpu:
        _tell(bench, "cpu", batch, cpu)
        bench.figure("speed-up %d" % batch, median(rates) / median(cpu), "ratio", "over float32 on the CPU")


def _tell(bench: Bench, where: str, batch: int, rates: list[float]) -> None:
    bench.figure("%s %d" % (where, batch), median(rates), "images/s", "forward passes, batch %d" % batch, rates)
