"""Copies between GPUs: which pairs are tried, the content first, and what is told of one that loses it."""

from typing import Any

import pytest

from gpudoctor.workers.smoke.backends.base import Peer
from gpudoctor.workers.smoke.tests import peer
from tests.smoke.bench_kit import Device, Done, bench, results
from tests.smoke.still_clock import StillClock

MIB = 1 << 20


class Link(Peer):
    """A link of 25 GB/s on this clock, that loses so many bytes of the pattern."""

    can_access = True

    def __init__(self, clock: StillClock, size: int, lost: int = 0) -> None:
        self.clock, self.size, self.lost = clock, size, lost
        self.queued, self.longest, self.copied = 0, 0, 0

    def copy(self) -> None:
        self.queued += 1
        self.copied += 1

    def wait(self) -> None:
        self.longest = max(self.longest, self.queued)
        self.clock.now += self.queued * self.size / 25e9
        self.queued = 0

    def differing(self) -> int:
        self.wait()
        return self.lost if self.copied else self.size


class Gpus(Device):
    """So many GPUs; the link of one pair may be ill."""

    count = 2
    clock: StillClock
    ill: tuple[int, int] | None = None
    made: tuple[tuple[int, int, Link], ...] = ()

    def peers(self) -> int:
        return self.count

    def peer(self, source: int, target: int, size: int) -> Peer:
        link = Link(self.clock, size, 4096 if (source, target) == self.ill else 0)
        self.made = (*self.made, (source, target, link))
        return link


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> StillClock:
    made = StillClock()
    monkeypatch.setattr(peer, "time", made)
    return made


def done(gpus: Device | None = None, **attributes: Any) -> list[Done]:
    return results(peer.run, bench(gpus or Gpus(**attributes)))


def test_both_ways_between_two(clock: StillClock) -> None:
    there, back = done(clock=clock)
    assert [(one.outcome, one.variant) for one in (there, back)] == [("done", "0-1"), ("done", "1-0")]
    assert there.figures == {"rate": pytest.approx(25.0)}
    assert (there.units, len(there.samples["rate"])) == ({"rate": "GB/s"}, 3)
    assert there.notes == {"can_access": True, "differing": 0, "size": 256 * MIB}


def test_pairs_are_called_as_the_gpus_are(clock: StillClock) -> None:
    found = results(peer.run, bench(Gpus(clock=clock), numbers=["1", "3"]))
    assert [one.variant for one in found] == ["1-3", "3-1"]


def test_a_pair_that_loses_bytes(clock: StillClock) -> None:
    found = {one.variant: one.notes["differing"] for one in done(clock=clock, count=3, ill=(2, 0))}
    assert found == {"0-1": 0, "0-2": 0, "1-0": 0, "1-2": 0, "2-0": 4096, "2-1": 0}


def test_the_content_is_held_against_the_pattern_before_a_larger_buffer_is_timed(clock: StillClock) -> None:
    gpus = Gpus(clock=clock)
    done(gpus)
    sizes = [(source, target, link.size) for source, target, link in gpus.made]
    assert sizes[:2] == [(0, 1, 64 * MIB), (0, 1, 256 * MIB)]
    assert gpus.made[0][2].copied == 1


@pytest.mark.parametrize(("slower", "queued"), [(1, 4), (0.1, 8), (100, 1)])
def test_as_many_are_queued_as_a_twentieth_of_a_second_takes(clock: StillClock, slower: float, queued: int) -> None:
    link = Link(clock, int(256 * MIB * slower))
    on = bench(Gpus(clock=clock))
    with on.test("peer"):
        peer._timed(on, link)
    assert link.longest == queued


def test_a_full_gpu(clock: StillClock) -> None:
    gpus = Gpus(clock=clock, room=512 * MIB)
    done(gpus)
    assert [link.size for _, _, link in gpus.made[:2]] == [32 * MIB, 32 * MIB]


def test_a_gpu_without_room(clock: StillClock) -> None:
    (there, _) = done(clock=clock, room=256 * MIB)
    assert (there.outcome, there.result["error"]) == ("failed", "out-of-memory")


@pytest.mark.parametrize("count", [0, 1])
def test_one_gpu_has_no_peer(clock: StillClock, count: int) -> None:
    (one,) = done(clock=clock, count=count)
    assert (one.outcome, one.message) == ("unsupported", f"GPU-to-GPU copy needs two GPUs, and NumPy sees {count}.")


def test_a_backend_that_copies_nothing_between_devices() -> None:
    (one,) = done(Device())
    assert (one.outcome, one.message) == ("unsupported", "NumPy does not copy between devices.")


def test_an_error_while_counting_is_the_tests(clock: StillClock) -> None:
    class Broken(Gpus):
        def peers(self) -> int:
            raise RuntimeError("CUDA error: no CUDA-capable device is detected")

    (one,) = done(Broken())
    assert (one.outcome, one.message) == ("failed", "RuntimeError: CUDA error: no CUDA-capable device is detected")


def test_pairs() -> None:
    assert peer.pairs(2) == [(0, 1), (1, 0)]
    assert len(set(peer.pairs(8))) == 56
    assert peer.pairs(9) == [(at, (at + 1) % 9) for at in range(9)]
    assert all(source != target for count in range(17) for source, target in peer.pairs(count))
