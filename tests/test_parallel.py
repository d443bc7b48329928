"""Steps run side by side, each told of when it begins and ends, and one that fails costs no other."""

import threading
from typing import Any

from gpudoctor.facts import Host, KernelLog
from gpudoctor.maybe import Unknown
from gpudoctor.parallel import ParallelStep, StepEnded, StepFailure, StepStarted, run_steps, unanswered


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


def test_a_part_that_could_not_be_gathered_says_why() -> None:
    given = unanswered(KernelLog, "the probe failed", {"source": "dmesg"})
    assert (given.source, given.events) == ("dmesg", Unknown("the probe failed"))
    log = unanswered(KernelLog, "the probe failed")
    assert log.events == Unknown("the probe failed")
    host = unanswered(Host, "the probe failed")
    assert host.memory == Unknown("the probe failed")
    assert host.environment == {}
