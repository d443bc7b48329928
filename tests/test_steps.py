"""Steps run side by side, each told of when it begins and ends, and one that fails costs no other."""

import threading
from typing import Any

from gpudoctor.facts import Host, KernelLog
from gpudoctor.maybe import Unknown
from gpudoctor.steps import Step, StepEnded, StepStarted, run_steps, unanswered


def drain(steps: list[Step]) -> tuple[list[Any], dict[str, Any]]:
    events, generator = [], run_steps(steps)
    while True:
        try:
            events.append(next(generator))
        except StopIteration as end:
            return events, end.value


def fails() -> None:
    raise OSError(5, "Input/output error")


def test_results_and_events() -> None:
    events, results = drain([Step("a", "A", lambda: 1), Step("b", "B", fails), Step("c", "C", lambda: 3)])
    assert results == {"a": 1, "b": None, "c": 3}
    assert [e.key for e in events if isinstance(e, StepStarted)] == ["a", "b", "c"]
    errors = {e.key: e.error for e in events if isinstance(e, StepEnded)}
    assert errors == {"a": None, "b": "OSError: [Errno 5] Input/output error", "c": None}


def test_steps_run_side_by_side() -> None:
    met = threading.Barrier(2, timeout=5)
    _, results = drain([Step("a", "A", met.wait), Step("b", "B", met.wait)])
    assert sorted(results.values()) == [0, 1]


def test_one_step_needs_no_thread() -> None:
    _, results = drain([Step("a", "A", threading.get_ident)])
    assert results == {"a": threading.get_ident()}


def test_a_part_that_could_not_be_gathered_says_why() -> None:
    log = unanswered(KernelLog, "the probe failed")
    assert log.events == Unknown("the probe failed")
    host = unanswered(Host, "the probe failed")
    assert host.memory == Unknown("the probe failed")
    assert host.environment == {}
