"""A sampler's thread with stand-ins for machine and child: what goes wrong before, with and after a child."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from gpudoctor.child import ChildResult
from gpudoctor.machine import Machine
from gpudoctor.monitor import sampler as sampling
from gpudoctor.monitor.sampler import Sampler, SamplerState
from gpudoctor.monitor.vendors import SamplerTask, Vendor
from gpudoctor.sampling.history import History


class Stub(Machine):
    """A machine whose child is what a function says."""

    def __init__(self, child: Callable[..., ChildResult]) -> None:
        super().__init__(env={})
        self._child = child

    def run(self, argv: Any, seconds: float = 0.0, *_: Any, **words: Any) -> ChildResult:
        """What the function says of the child."""
        return self._child(**words)


def vendor(task: Callable[[Machine], SamplerTask | str] = lambda _: SamplerTask("")) -> Vendor:
    return Vendor("nvidia", "NVIDIA's driver", task)


def state(sampler: Sampler, so: Callable[[SamplerState], object]) -> SamplerState:
    """The first state that is as wanted, or the last one of our patience."""
    end = time.monotonic() + 20
    sampler.start()
    while not so(now := sampler.state(time.monotonic())) and time.monotonic() < end:
        time.sleep(0.01)
    sampler.stop()
    return now


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "RETRY", 0.01)


def test_a_machine_that_cannot_be_made_is_told_and_made_again_later() -> None:
    made: list[int] = []

    def make() -> Machine:
        made.append(1)
        if len(made) < 3:
            raise ValueError("--root is no folder")
        return Stub(lambda **_: ChildResult(argv=("x",), code=1, err="gone"))

    sampler = Sampler(vendor(), make, History())
    assert state(sampler, lambda now: now.absent).absent == "NVIDIA's driver: --root is no folder."
    assert state(sampler, lambda now: len(made) > 3).absent is not None


def test_a_fault_of_ours_before_the_child_is_told_too() -> None:
    def fails(_: Machine) -> SamplerTask:
        raise ZeroDivisionError

    reported = state(Sampler(vendor(fails), Machine, History()), lambda now: now.absent)
    assert reported.absent == "NVIDIA's driver: ZeroDivisionError."


def test_a_child_that_cannot_be_killed_is_not_joined_by_others(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    left = [1]
    monkeypatch.setattr(sampling, "reap", lambda: left[0])

    def sleeps(**_: Any) -> ChildResult:
        begun.append(1)
        return ChildResult(argv=("x",), abandoned=True, timed_out=True)

    sampler = Sampler(vendor(), lambda: Stub(sleeps), History())
    stuck = "NVIDIA's driver: an earlier child process hangs in it and cannot be killed."
    assert state(sampler, lambda now: now.trouble == stuck).trouble == stuck
    assert len(begun) == 1
    left[0] = 0
    assert state(sampler, lambda now: len(begun) > 1) is not None
    assert len(begun) > 1


def test_a_child_that_another_part_left_behind_says_nothing_of_this_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "reap", lambda: 1)
    sampler = Sampler(vendor(), lambda: Stub(lambda **_: ChildResult(argv=("x",), signal="SIGSEGV")), History())
    assert (
        state(sampler, lambda now: now.trouble).trouble
        == "NVIDIA's driver: the child process was killed by SIGSEGV in stage start."
    )
