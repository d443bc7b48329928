"""Sums over all devices: what is told of them, and of how much."""

from collections.abc import Callable
from typing import Any

import pytest

from gpudoctor.workers.smoke.runner import Stopped
from gpudoctor.workers.smoke.tests import allreduce
from tests.smoke.bench_kit import Device, Done, bench, results

MIB = 1 << 20


class Gpus(Device):
    """So many GPUs that sum at 100 GB/s of bus rate."""

    count = 4
    wrong = 0
    asked = 0

    def peers(self) -> int:
        return self.count

    def allreduce(self, size: int, pause: Callable[[], None]) -> dict[str, Any]:
        self.asked = size
        pause()
        ranks = 2 if self.kind == "cpu" else self.count
        seconds = size / 100e9 * 2 * (ranks - 1) / ranks
        times = [seconds * (10 if at == 3 else 1) for at in range(10)]
        return {"ranks": ranks, "transport": "nccl", "wrong": self.wrong, "seconds": times, "bytes": size}


def one(gpus: Device) -> Done:
    (done,) = results(allreduce.run, bench(gpus))
    return done


def test_the_median_of_ten_sums() -> None:
    done = one(Gpus())
    assert done.outcome == "done"
    assert done.figures == {
        "time": pytest.approx(256 * MIB / 100e9 * 1.5),
        "bus rate": pytest.approx(100.0),
    }
    assert done.units == {"time": "s", "bus rate": "GB/s"}
    assert done.notes == {"ranks": 4, "transport": "nccl", "wrong": 0, "bytes": 256 * MIB}
    assert [len(samples) for samples in done.samples.values()] == [10, 10]


def test_a_wrong_sum() -> None:
    assert one(Gpus(wrong=5)).notes["wrong"] == 5


@pytest.mark.parametrize(
    ("attributes", "size"),
    [({}, 256 * MIB), ({"room": 1 << 30}, 64 * MIB), ({"kind": "cpu", "room": 1 << 30}, 4 * MIB)],
)
def test_how_much_is_summed(attributes: dict[str, Any], size: int) -> None:
    gpus = Gpus(**attributes)
    assert (one(gpus).outcome, gpus.asked) == ("done", size)


def test_a_gpu_without_room_sums_nothing() -> None:
    gpus = Gpus(room=256 * MIB)
    done = one(gpus)
    assert (done.outcome, done.result["error"], gpus.asked) == ("failed", "out-of-memory", 0)


def test_on_the_cpu_nobody_counts_gpus() -> None:
    assert one(Gpus(kind="cpu", count=0)).notes["ranks"] == 2


@pytest.mark.parametrize("count", [0, 1])
def test_one_gpu_has_nobody_to_sum_with(count: int) -> None:
    done = one(Gpus(count=count))
    assert (done.outcome, done.message) == ("unsupported", f"All-reduce needs two GPUs, and NumPy sees {count}.")


def test_a_backend_without_collectives() -> None:
    (done,) = results(allreduce.run, bench())
    assert (done.outcome, done.message) == ("unsupported", "NumPy has no collective operations.")


def test_who_stops_the_run_stops_the_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudoctor.workers.smoke.runner._ASKED", [15])
    on = bench(Gpus())
    with pytest.raises(Stopped):
        allreduce.run(on)


@pytest.mark.parametrize(
    ("ranks", "rate"),
    [(2, 1.0), (4, 1.5), (8, 1.75)],  # nccl-tests, doc/PERFORMANCE.md
)
def test_the_bus_rate(ranks: int, rate: float) -> None:
    assert allreduce.bus_rate(10**9, 1.0, ranks) == pytest.approx(rate)
