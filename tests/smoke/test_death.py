"""How the end of a worker is told."""

from typing import Any

import pytest

from gpudoctor.child import ChildResult
from gpudoctor.machine import OUT_OF_TIME
from gpudoctor.recorded_machine import RecordedMachine
from gpudoctor.smoketests.worker_exit import death, killed_for_memory

AT = "mnist"


@pytest.mark.parametrize(
    ("ended", "outcome", "message"),
    [
        ({"code": 0}, None, None),
        (
            {"signal": "SIGSEGV"},
            "died",
            "It was killed by SIGSEGV in stage mnist: it accessed invalid memory.",
        ),
        ({"signal": "SIGKILL"}, "died", "It was killed by SIGKILL in stage mnist, sent from outside."),
        (
            {"signal": "SIGBUS"},
            "died",
            "It was killed by SIGBUS in stage mnist: mapped memory became unavailable; a full /dev/shm can cause this.",
        ),
        ({"timed_out": True, "signal": "SIGKILL"}, "hung", "It stopped responding in stage mnist."),
        (
            {"timed_out": True, "abandoned": True},
            "hung",
            "It stopped responding in stage mnist. It hangs in the kernel and cannot be killed: only a GPU reset or "
            "a reboot ends it.",
        ),
        ({"cancelled": True, "signal": "SIGTERM"}, "stopped", "the run was stopped"),
        ({"missing": OUT_OF_TIME}, "stopped", "The time for the whole run (--timeout) was over before it started."),
        ({"missing": "No such file or directory"}, "failed", "python was not started: No such file or directory"),
        (
            {"code": 7, "err": "first\nlast words\n\n"},
            "failed",
            "It ended in stage mnist with exit code 7: last words",
        ),
        ({"code": 7}, "failed", "It ended in stage mnist with exit code 7: no output"),
    ],
)
def test_each_end_has_its_sentence(ended: dict[str, Any], outcome: str | None, message: str | None) -> None:
    found = death(ChildResult(argv=("python",), **ended), AT, 3, 3)
    assert (found.outcome if found else None, found.message if found else None) == (outcome, message)


@pytest.mark.parametrize(
    ("ended", "message"),
    [
        ({"timed_out": True}, "the run was stopped"),
        (
            {"timed_out": True, "abandoned": True},
            "the run was stopped. It hangs in the kernel and cannot be killed: only a GPU reset or a reboot ends it.",
        ),
    ],
)
def test_a_worker_that_somebody_ended_has_not_hung(ended: dict[str, Any], message: str) -> None:
    found = death(ChildResult(argv=("python",), **ended), AT, 3, 3, halted=True)
    assert found is not None
    assert (found.outcome, found.message) == ("stopped", message)


@pytest.mark.parametrize(
    ("before", "after", "error"), [(3, 4, "out-of-memory"), (3, 3, "other"), (None, 4, "other"), (3, None, "other")]
)
def test_the_kernel_counts_whom_it_killed_for_memory(before: int | None, after: int | None, error: str) -> None:
    found = death(ChildResult(argv=("python",), signal="SIGKILL"), AT, before, after)
    assert found is not None
    assert found.error == error


@pytest.mark.parametrize(
    ("text", "wanted"), [("nr_free_pages 5\noom_kill 12\n", 12), ("nr_free_pages 5\n", None), ("oom_kill many\n", None)]
)
def test_the_count_is_read_from_vmstat(text: str, wanted: int | None) -> None:
    assert killed_for_memory(RecordedMachine(files={"/proc/vmstat": text})) == wanted
    assert killed_for_memory(RecordedMachine()) is None
