"""Compiled kernels: each way is a test of its own, and what fails is told in its own words."""

from typing import Any

import pytest

from gpudoctor.workers.smoke.backends.base import Fused
from gpudoctor.workers.smoke.runner import Unsupported
from gpudoctor.workers.smoke.tests import fused
from gpudoctor.workers.smoke.timing import Samples
from tests.smoke.bench_kit import Device, Done, bench, reported, results


class Way(Fused):
    """A way of compiling that works, with this error."""

    def __init__(self, way: str, off: float = 1e-7) -> None:
        self.way, self._off = way, off
        self.did: list[str] = []

    def compile(self) -> None:
        self.did.append("compile")

    def fused(self) -> None:
        self.did.append("fused")

    def eager(self) -> None:
        self.did.append("eager")

    def error(self) -> float:
        return self._off


class Refused(Way):
    """No compiler."""

    def compile(self) -> None:
        raise RuntimeError("Failed to find C compiler. Please specify via CC environment variable.")


class Compilers(Device):
    """A device with these ways."""

    ways: Any = ()
    asked = 0

    def fused(self, elements: int) -> list[Fused]:
        self.asked = elements
        if isinstance(self.ways, Exception):
            raise self.ways
        return list(self.ways)


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled kernel takes a millisecond, the operations one by one take four."""

    def timed(on: Any, call: Any) -> Samples:
        call()
        return Samples([0.001 if call.__name__ == "fused" else 0.004], 0.0, 0.0, 1.0)

    monkeypatch.setattr(fused, "measure", timed)


def ways(*found: Way, **attributes: Any) -> list[Done]:
    return results(fused.run, bench(Compilers(ways=found, **attributes)))


def test_a_way_that_works() -> None:
    way = Way("Triton")
    (done,) = ways(way)
    assert (done.outcome, done.variant) == ("done", "Triton")
    assert list(done.figures) == ["compile", "error", "rate", "speed-up"]
    assert done.units == {"compile": "s", "error": "ratio", "rate": "GB/s", "speed-up": "ratio"}
    assert done.figures["rate"] == pytest.approx(2 * 4e-9 * (32 << 20) / 0.001)  # a quarter of 4 GiB holds eight
    assert (done.figures["speed-up"], done.figures["error"]) == (4.0, 1e-7)
    assert way.did == ["compile", "fused", "eager"]


def test_the_backends_own_clock_of_compiling_goes_before() -> None:
    way = Way("Triton")
    way.compile_seconds = 12.5
    assert ways(way)[0].figures["compile"] == 12.5


def test_one_that_fails_does_not_hide_the_other() -> None:
    first, second = ways(Refused("torch.compile"), Way("Triton", off=0.3))
    assert (first.outcome, first.variant, second.outcome, second.variant) == (
        "failed",
        "torch.compile",
        "done",
        "Triton",
    )
    assert first.message == "RuntimeError: Failed to find C compiler. Please specify via CC environment variable."
    assert second.figures["error"] == 0.3


@pytest.mark.parametrize(
    ("why", "outcome", "message"),
    [
        (Unsupported("It compiles nothing."), "unsupported", "It compiles nothing."),
        (ImportError("no triton"), "failed", "ImportError: no triton"),
    ],
)
def test_no_way_at_all(why: Exception, outcome: str, message: str) -> None:
    (done,) = results(fused.run, bench(Compilers(ways=why)))
    assert (done.outcome, done.variant, done.message) == (outcome, "", message)


def test_a_hang_before_the_ways_are_known_has_a_name() -> None:
    on = bench(Compilers(ways=()))
    fused.run(on)
    assert [line["stage"] for line in reported(on)] == ["fused"]


@pytest.mark.parametrize(
    ("attributes", "elements"),
    [({"room": 80 << 30}, 64 << 20), ({"room": 1 << 30}, 8 << 20), ({"kind": "cpu"}, 1 << 20), ({"room": 0}, 1 << 16)],
)
def test_the_vectors_fit_the_memory(attributes: dict[str, Any], elements: int) -> None:
    device = Compilers(ways=(), **attributes)
    fused.run(bench(device))
    assert device.asked == elements
