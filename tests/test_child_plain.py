"""A child where the kernel is not Linux's: tried on Linux, whose Python has all that macOS's has."""

import sys
import time
from threading import Thread

import pytest

from gpudoctor import child
from gpudoctor.child import ChildResult

PYTHON = sys.executable


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "LINUX", False)


def python(code: str, timeout: float = 20.0, **more: object) -> ChildResult:
    return child.run([PYTHON, "-c", code], timeout=timeout, **more)  # type: ignore[arg-type]


def test_code_and_both_outputs_are_kept() -> None:
    ended = python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert (ended.code, ended.out, ended.err, ended.ok) == (3, "out\n", "err\n", False)
    assert not ended.timed_out
    assert not ended.abandoned


def test_it_reads_what_it_is_given_and_each_line_is_told() -> None:
    lines: list[str] = []
    ended = python("print(input()); print(input())", stdin=b"one\ntwo\n", on_line=lines.append)
    assert ended.ok
    assert lines == ["one", "two"]


def test_a_death_by_signal_has_its_name() -> None:
    ended = python("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert (ended.code, ended.signal) == (None, "SIGSEGV")


def test_what_hangs_is_ended_with_its_own_children() -> None:
    begun = time.monotonic()
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).wait()"
    ended = python(code, timeout=0.5, grace=0.2)
    assert ended.timed_out
    assert ended.signal == "SIGTERM"
    assert time.monotonic() - begun < 60


def test_what_comes_late_is_ended_before_its_time() -> None:
    ended = python("import time; time.sleep(600)", timeout=300, late=lambda: True)
    assert ended.timed_out


def test_a_program_that_is_not_there_is_missing() -> None:
    ended = child.run(["/no/such/program"], timeout=5)
    assert (ended.missing, ended.code) == ("No such file or directory", None)


def test_whoever_listens_and_fails_is_told_and_the_child_is_killed() -> None:
    def fail(_: str) -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        python("print('x', flush=True); import time; time.sleep(600)", timeout=300, on_line=fail)


def test_all_are_ended_from_elsewhere() -> None:
    found: list[ChildResult] = []
    started: list[str] = []
    code = "print('here', flush=True); import time; time.sleep(600)"
    thread = Thread(target=lambda: found.append(python(code, timeout=300, on_line=started.append)))
    thread.start()
    while not started:
        time.sleep(0.01)
    child.end_all()
    thread.join(30)
    assert found[0].cancelled
    assert not found[0].timed_out
