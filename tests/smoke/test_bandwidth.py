"""The device memory's bandwidth: which vectors, which rates, and that a wrong element shows."""

from typing import Any

import pytest

from gpudoctor.workers.smoke.backends.cpu import HostVectors
from gpudoctor.workers.smoke.tests import bandwidth
from tests.smoke.bench_kit import Device, Done, bench, quick, results

MIB = 1 << 20


class Lost(HostVectors):
    """Nothing is copied."""

    def copy(self) -> None:
        pass


class Wrong(HostVectors):
    """One element of the triad is a tenth off."""

    def triad(self) -> None:
        super().triad()
        self.z[12345] += 0.1


class Memory(Device):
    """A device with these vectors."""

    of: type[HostVectors] = HostVectors

    def vectors(self, elements: int) -> HostVectors:
        return self.of(self.numpy, elements)


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bandwidth, "measure", quick)
    monkeypatch.setattr(bandwidth, "ON_CPU", 4 * MIB)
    monkeypatch.setattr(bandwidth, "LEAST", 4 * MIB)
    monkeypatch.setattr(bandwidth, "UNKNOWN_CACHE", MIB)


def one(backend: Any = None) -> Done:
    (done,) = results(bandwidth.run, bench(backend))
    return done


def test_rates_count_what_is_read_and_written() -> None:
    done = one()
    size = 4 * MIB  # of a vector, of which NumPy's triad moves five, in 2 ms
    assert done.figures == pytest.approx(
        {"copy": 2e-9 * size / 0.002, "triad": 5e-9 * size / 0.002, "read": 1e-9 * size / 0.002}
    )
    assert done.units == {"copy": "GB/s", "triad": "GB/s", "read": "GB/s"}
    assert done.notes == {"size": size, "wrong": 0, "variation": pytest.approx(0.6546, abs=1e-3)}
    assert done.outcome == "done"


def test_a_wrong_element_shows() -> None:
    assert one(Memory()).notes["wrong"] == 0
    assert one(Memory(of=Wrong)).notes["wrong"] == 1


def test_a_lost_copy_shows() -> None:
    done = one(Memory(of=Lost))
    assert done.notes["size"] == 8 * MIB
    assert done.notes["wrong"] == pytest.approx(2 * 2 * MIB, rel=0.01)  # of y and of z; every thousandth is zero anyway


@pytest.mark.parametrize(
    ("room", "cache", "size"),
    [
        (16 << 30, 50 * MIB, 400 * MIB),  # eight times the cache of an H100
        (16 << 30, 4 * MIB, 256 * MIB),
        (16 << 30, None, 512 * MIB),
        (80 << 30, 256 * MIB, (2 << 30) // 3 // 4 * 4),  # no more than a third of what may be taken
        (1 << 30, 4 * MIB, (256 * MIB) // 3 // 4 * 4),
    ],
)
def test_vectors_are_longer_than_the_cache(
    room: int, cache: int | None, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bandwidth, "LEAST", 256 * MIB)
    monkeypatch.setattr(bandwidth, "UNKNOWN_CACHE", 64 * MIB)
    assert bandwidth.length(bench(Device(room=room, cache=cache))) == size


def test_too_little_memory() -> None:
    done = one(Device(room=260 * MIB))
    assert (done.outcome, done.result["error"]) == ("failed", "out-of-memory")
    assert done.message == "MemoryError: only 4 MiB of memory may be used, too little for three vectors"
