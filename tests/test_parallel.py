"""Steps run side by side, each told of when it begins and ends, and one that fails costs no other."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from gpudoctor import parallel
from gpudoctor.child import run
from gpudoctor.children.process import WAITING
from gpudoctor.facts import Host, KernelLog
from gpudoctor.maybe import Unknown
from gpudoctor.parallel import PATIENCE, ParallelStep, StepEnded, StepFailure, StepStarted, run_steps, unanswered


def drain(steps: list[ParallelStep], seconds: float = 10) -> tuple[list[Any], dict[str, Any]]:
    events, generator = [], run_steps(steps, seconds)
    while True:
        try:
            events.append(next(generator))
        except StopIteration as end:
            return events, end.value


def fails() -> None:
    raise OSError(5, "Input/output error")


def test_results_and_events() -> None:
    events, results = drain(
        [ParallelStep("a", "A", lambda: 1), ParallelStep("b", "B", fails), ParallelStep("c", "C", lambda: 3)]
    )
    assert results == {"a": 1, "b": StepFailure("the probe failed: OSError: [Errno 5] Input/output error"), "c": 3}
    assert [e.key for e in events if isinstance(e, StepStarted)] == ["a", "b", "c"]
    errors = {e.key: e.error for e in events if isinstance(e, StepEnded)}
    assert errors == {"a": None, "b": "OSError: [Errno 5] Input/output error", "c": None}


def test_steps_run_side_by_side() -> None:
    met = threading.Barrier(2, timeout=5)
    _, results = drain([ParallelStep("a", "A", met.wait), ParallelStep("b", "B", met.wait)])
    assert sorted(results.values()) == [0, 1]


def test_a_step_that_never_ends_is_left_behind() -> None:
    for_ever = threading.Event()
    events, results = drain([ParallelStep("a", "A", for_ever.wait), ParallelStep("b", "B", lambda: 2)], seconds=0.2)
    assert results == {"a": StepFailure("the probe timed out"), "b": 2}
    assert (events[-1].key, events[-1].error) == ("a", "it timed out")
    for_ever.set()


def test_steps_are_waited_for_when_none_is_left_to_begin() -> None:
    """The last one is taken by another thread while this one waits to see whether it has to begin another."""
    never = threading.Event()

    def first() -> int:
        never.wait(PATIENCE / 2)
        WAITING.others()
        never.wait(2 * PATIENCE)
        return 1

    def second() -> int:
        never.wait(2 * PATIENCE)
        return 2

    _, results = drain([ParallelStep("a", "A", first), ParallelStep("b", "B", second)])
    assert results == {"a": 1, "b": 2}


def test_a_step_that_waits_for_a_child_lets_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child ends only when the next step has run, and patience is of no help."""
    monkeypatch.setattr(parallel, "PATIENCE", 60.0)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    waits = ParallelStep("a", "A", lambda: run(["cat", str(fifo)], timeout=20).out)
    writes = ParallelStep("b", "B", lambda: fifo.write_text("written"))
    _, results = drain([waits, writes], seconds=30)
    assert results == {"a": "written", "b": 7}


def test_a_part_that_could_not_be_gathered_says_why() -> None:
    given = unanswered(KernelLog, "the probe failed", {"source": "dmesg"})
    assert (given.source, given.events) == ("dmesg", Unknown("the probe failed"))
    log = unanswered(KernelLog, "the probe failed")
    assert log.events == Unknown("the probe failed")
    host = unanswered(Host, "the probe failed")
    assert host.memory == Unknown("the probe failed")
    assert host.environment == {}
