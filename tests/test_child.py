"""Children that end well, badly, late or not at all."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from gpudoctor.child import ChildResult, end_all, reap, run
from gpudoctor.children import process
from gpudoctor.children.output import LINE_LIMIT, OUTPUT_LIMIT, KeptOutput, LineSplitter

GRACE = 0.2


def _children() -> set[int]:
    return {one.pid for one in psutil.Process().children()}


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    """Every test ends with no child more, zombies included, no registered child, and no descriptor more."""
    before, children = len(os.listdir("/proc/self/fd")), _children()
    yield
    assert _children() <= children  # a server that other tests share may be among them
    assert not process.LIVE
    assert not process.ABANDONED
    end = time.monotonic() + 5  # threads that other tests share open and close theirs
    while len(os.listdir("/proc/self/fd")) > before:
        assert time.monotonic() < end, "a descriptor was left open"
        time.sleep(0.02)


def shell(script: str, *, timeout: float = 5, grace: float = GRACE, stdin: bytes = b"") -> ChildResult:
    return run(["/bin/sh", "-c", script], timeout=timeout, grace=grace, stdin=stdin)


def alive(group: int) -> bool:
    """Whether a process of that group is alive (not a zombie)."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it may end while we look
            state, _, pgrp, *_ = stat.read_text().rpartition(")")[2].split()
            if int(pgrp) == group and state != "Z":
                return True
    return False


def dies(group: int, within: float = 2.0) -> bool:
    end = time.monotonic() + within
    while alive(group) and time.monotonic() < end:
        time.sleep(0.02)
    return not alive(group)


def test_ok() -> None:
    ended = shell("echo out; echo err >&2")
    assert (ended.ok, ended.code, ended.signal, ended.missing) == (True, 0, None, None)
    assert (ended.out, ended.err) == ("out\n", "err\n")
    assert ended.argv == ("/bin/sh", "-c", "echo out; echo err >&2")
    assert 0 < ended.seconds < 20


def test_exit_code() -> None:
    ended = shell("exit 7")
    assert (ended.ok, ended.code, ended.signal) == (False, 7, None)


@pytest.mark.parametrize(
    ("number", "name"),
    [("SEGV", "SIGSEGV"), ("ABRT", "SIGABRT"), ("KILL", "SIGKILL"), ("37", "SIGRTMIN+3")],
)
def test_death_by_a_signal_has_a_name(number: str, name: str) -> None:
    ended = shell(f"ulimit -c 0; echo last words; kill -{number} $$")
    assert (ended.ok, ended.code, ended.signal, ended.timed_out) == (False, None, name, False)
    assert ended.out == "last words\n"


def test_environment_directory_and_session_are_as_asked(tmp_path: Path) -> None:
    script = "env | grep -v '^_=' | grep -v ^SHLVL= | grep -v ^PWD=; pwd; cut -d' ' -f6 /proc/$$/stat; echo $$"
    ended = run(["/bin/sh", "-c", script], timeout=5, env={"PATH": "/usr/bin:/bin", "A": "1"}, cwd=str(tmp_path))
    *variables, directory, session, pid = ended.out.split()
    assert sorted(variables) == ["A=1", "PATH=/usr/bin:/bin"]
    assert directory == str(tmp_path)
    assert session == pid != str(os.getsid(0))


def test_stdin_is_empty_or_the_given_bytes() -> None:
    assert shell("cat").out == ""
    script = b"x" * 300_000
    ended = shell("cat | wc -c", stdin=script)
    assert (ended.out.strip(), ended.ok) == ("300000", True)


def test_stdin_that_nobody_reads_does_no_harm() -> None:
    assert shell("exit 0", stdin=b"x" * 300_000).ok
    assert shell("exec <&-; sleep 0.1; echo done", stdin=b"x" * 300_000).out == "done\n"
    assert shell("sleep 60", stdin=b"x" * 300_000, timeout=0.2).seconds < 20


def test_timeout() -> None:
    ended = shell("echo started; sleep 60", timeout=2)
    assert (ended.ok, ended.timed_out, ended.signal, ended.out) == (False, True, "SIGTERM", "started\n")
    assert 2 <= ended.seconds < 20


def test_a_timeout_is_not_ok_even_where_the_child_then_returns_0() -> None:
    ended = shell("trap 'echo bye; exit 0' TERM; while :; do sleep 0.01; done", timeout=2, grace=2)
    assert (ended.code, ended.timed_out, ended.ok, ended.out) == (0, True, False, "bye\n")


def test_one_that_ignores_sigterm_is_killed() -> None:
    ended = shell("trap '' TERM; while :; do sleep 1; done", timeout=2)
    assert (ended.timed_out, ended.signal, ended.abandoned) == (True, "SIGKILL", False)
    assert 2 + GRACE <= ended.seconds < 2 + 2 * GRACE + 20


def test_a_stopped_one_is_ended() -> None:
    ended = shell("kill -STOP $$; echo went on", timeout=0.3)
    assert (ended.timed_out, ended.signal, ended.out) == (True, "SIGTERM", "")


@pytest.mark.parametrize("tied", [True, False])
def test_a_grandchild_in_the_group_is_killed_with_its_parent(tied: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not tied:  # a kernel that refuses F_SETSIG
        monkeypatch.setattr(process.Child, "_tie", lambda *_: None)
    ended = shell("sleep 60 & echo $$; exit 3")
    assert ended.code == 3
    assert ended.seconds < 20
    assert dies(int(ended.out))


def test_a_grandchild_in_a_session_of_its_own_does_not_keep_us(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    ended = shell(f"setsid sh -c 'echo $$ >{mark}; exec sleep 60' & while ! test -s {mark}; do :; done; echo out")
    os.kill(int(mark.read_text()), signal.SIGKILL)
    assert (ended.code, ended.out) == (0, "out\n")
    assert ended.seconds < 20


def test_last_output_of_a_grandchild_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_QUIET", "_DRAIN"):  # on a busy machine it takes longer than these to write; its end ends the wait
        monkeypatch.setattr(process, name, 60.0)
    assert shell("(sleep 0.05; echo late) & exit 0").out == "late\n"


def test_a_child_that_closes_its_output_is_still_waited_for() -> None:
    ended = shell("exec >&- 2>&-; sleep 0.3; exit 5")
    assert ended.code == 5
    assert 0.3 <= ended.seconds < 20


def test_a_flood_is_cut_in_the_middle() -> None:
    ended = shell("echo first; yes | head -c 20000000; echo last; yes >&2", timeout=3.0)
    assert ended.timed_out
    for text in (ended.out, ended.err):
        assert "bytes cut ...]" in text
        assert len(text) < OUTPUT_LIMIT + 100
    assert ended.out.startswith("first\n")
    assert ended.out.endswith("last\n")
    assert ended.seconds < 1.0 + 2 * GRACE + 20


def test_kept_says_how_much_is_cut() -> None:
    kept = KeptOutput()
    for _ in range(100):
        kept.add(b"0123456789" * 10_000)
    cut = 10_000_000 - OUTPUT_LIMIT
    assert f"\n[... {cut} bytes cut ...]\n" in kept.text()
    assert len(kept.text()) == OUTPUT_LIMIT + len(f"\n[... {cut} bytes cut ...]\n")


def test_kept_cuts_nothing_at_its_limit() -> None:
    kept = KeptOutput()
    kept.add(b"a" * (OUTPUT_LIMIT - 1))
    kept.add(b"b")
    assert kept.text() == "a" * (OUTPUT_LIMIT - 1) + "b"


def test_lines_are_told_when_whole_and_a_huge_one_in_pieces() -> None:
    reported: list[str] = []
    lines = LineSplitter(reported.append)
    for data in (b"on", b"e\ntwo\n\nth", b"\xff\n"):
        lines.add(data)
    assert reported == ["one", "two", "", "th\ufffd"]
    lines.add(b"x" * (LINE_LIMIT + 1))
    assert len(reported[-1]) == LINE_LIMIT + 1


def test_binary_output_is_text_all_the_same() -> None:
    ended = shell(r"printf 'a\377\376\000b'; head -c 10000 /dev/urandom >&2")
    assert ended.out == "a\ufffd\ufffd\0b"
    assert len(ended.err) > 1000


def test_what_cannot_be_started_says_why(tmp_path: Path) -> None:
    plain, empty = tmp_path / "plain", tmp_path / "empty"
    plain.write_text("#!/bin/sh\n")
    empty.write_bytes(b"\x7fELF but not really")
    empty.chmod(0o755)
    lost = tmp_path / "lost"
    lost.write_text("#!/no/such/interpreter\n")
    lost.chmod(0o755)
    reasons = {name: run([str(name)], timeout=5).missing for name in (plain, empty, lost, tmp_path / "none")}
    assert reasons == {
        plain: "Permission denied",
        empty: "Exec format error",
        lost: "No such file or directory",
        tmp_path / "none": "No such file or directory",
    }
    ended = run(["no-such-program"], timeout=5)
    assert (ended.missing, ended.code, ended.signal, ended.ok) == ("No such file or directory", None, None, False)


def test_a_missing_directory_is_not_a_missing_program() -> None:
    assert run(["/bin/true"], timeout=5, cwd="/no/such").missing == "No such file or directory: /no/such"


def test_an_argument_no_program_can_get_is_an_error() -> None:
    with pytest.raises(ValueError, match="null byte"):
        run(["/bin/true", "a\0b"], timeout=5)


def test_lines_arrive_before_a_hang() -> None:
    reported: list[tuple[str, float]] = []
    start = time.monotonic()
    ended = run(
        ["/bin/sh", "-c", "echo stage 1; sleep 0.1; echo stage 2; printf half; sleep 60"],
        timeout=0.6, grace=GRACE, on_line=lambda line: reported.append((line, time.monotonic() - start)),
    )  # fmt: skip
    assert [line for line, _ in reported] == ["stage 1", "stage 2"]
    assert reported[1][1] < 0.5
    assert ended.out == "stage 1\nstage 2\nhalf"


def test_what_on_line_raises_ends_the_child() -> None:
    def fail(line: str) -> None:
        raise LookupError(line)

    start = time.monotonic()
    with pytest.raises(LookupError, match="here"):
        run(["/bin/sh", "-c", "trap '' TERM; echo here; sleep 60"], timeout=30, on_line=fail)
    assert time.monotonic() - start < 1


def test_ctrl_c_ends_the_child() -> None:
    pids: list[str] = []
    interrupt = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        run(["/bin/sh", "-c", "echo $$; sleep 60 & sleep 60"], timeout=30, on_line=pids.append)
    interrupt.join()
    assert dies(int(pids[0]))


def test_end_all_from_another_thread(tmp_path: Path) -> None:
    trapped = tmp_path / "trapped"
    scripts = ["sleep 60", f"trap '' TERM; : > {trapped}; while :; do sleep 1; done", "kill -STOP $$"]
    with ThreadPoolExecutor() as pool:
        runs = [pool.submit(shell, script, timeout=30, grace=0.5) for script in scripts]
        while not trapped.exists():  # a shell without its trap yet would end by the first signal
            time.sleep(0.05)
        time.sleep(0.3)
        end_all(grace=0.5)
        results = [future.result() for future in runs]
    assert [ended.signal for ended in results] == ["SIGTERM", "SIGKILL", "SIGTERM"]
    assert all(ended.cancelled and not ended.timed_out and not ended.ok for ended in results)
    assert shell("exit 0").ok


def test_end_all_works_from_a_signal_handler_that_interrupts_run() -> None:
    previous = signal.signal(signal.SIGUSR1, lambda *_: end_all(grace=0.5))
    try:
        tell = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1))
        tell.start()
        ended = shell("sleep 60", timeout=30)
        tell.join()
    finally:
        signal.signal(signal.SIGUSR1, previous)
    assert (ended.cancelled, ended.signal) == (True, "SIGTERM")
    assert ended.seconds < 20


def test_nothing_starts_once_closing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process.Child, "closing", False)
    end_all(closing=True)
    ended = shell(f"touch {tmp_path}/ran")
    assert (ended.cancelled, ended.code, ended.abandoned, ended.ok) == (True, None, False, False)
    assert list(tmp_path.iterdir()) == []


def test_four_at_once() -> None:
    start = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda n: shell(f"sleep 0.5; echo {n}; exit {n}"), range(4)))
    assert [(ended.code, ended.out) for ended in results] == [(n, f"{n}\n") for n in range(4)]
    assert time.monotonic() - start < 1.5


def test_one_that_survives_sigkill_is_abandoned_and_collected_later(monkeypatch: pytest.MonkeyPatch) -> None:
    pids: list[str] = []
    with monkeypatch.context() as patch:  # nothing a test may make sleeps uninterruptibly: no signal arrives
        patch.setattr(os, "killpg", lambda *_: None)
        patch.setattr(process.Child, "_tie", lambda *_: None)  # nor does the kernel end it when we let go of it
        ended = run(["/bin/sh", "-c", "echo $$; exec sleep 60"], timeout=1.0, grace=0.1, on_line=pids.append)
        assert reap() == 1
    assert (ended.timed_out, ended.abandoned, ended.code, ended.signal) == (True, True, None, None)
    assert ended.seconds < 30
    assert reap() in (0, 1)  # this call sends the signal, and may come too early for the corpse
    assert dies(int(pids[0]))
    assert reap() == 0


HOLD_A_LEASE = """
import fcntl, os, signal, sys, time
signal.signal(signal.SIGIO, signal.SIG_IGN)
try:
    fcntl.fcntl(os.open(sys.argv[1], os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_WRLCK)
except OSError as error:
    print(error, flush=True)
else:
    print("held", flush=True)
time.sleep(60)
"""


def test_a_hanging_exec_meets_the_deadline(tmp_path: Path) -> None:
    """A write lease makes exec wait for its holder, as a dead file server would."""
    program = tmp_path / "program"
    program.write_bytes(Path("/bin/true").read_bytes())
    program.chmod(0o755)
    with subprocess.Popen([sys.executable, "-c", HOLD_A_LEASE, program], stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            if (answer := holder.stdout.readline()) != "held\n":
                pytest.skip(f"no leases here: {answer}")
            ended = run([str(program)], timeout=0.3, grace=GRACE)
        finally:
            holder.kill()
    assert (ended.timed_out, ended.missing) == (True, None)
    assert ended.signal in ("SIGTERM", None)  # where SIGTERM has a handler, exec comes back with EINTR instead
    assert ended.seconds < 0.3 + 2 * GRACE + 20


RUN_AND_TELL = """
import sys
from gpudoctor.child import run
run(["/bin/sh", "-c", sys.argv[1]], timeout=60, on_line=lambda line: print(line, flush=True))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_children_and_grandchildren_die_with_us(number: signal.Signals) -> None:
    command = [sys.executable, "-c", RUN_AND_TELL, "trap '' TERM; sleep 60 & echo $$; sleep 60; sleep 60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as us:
        assert us.stdout is not None
        group = int(us.stdout.readline())
        assert alive(group)
        us.send_signal(number)
    assert dies(group)


def test_a_daemon_thread_does_not_keep_its_child_past_exit() -> None:
    script = RUN_AND_TELL.replace("run([", "import threading, time; threading.Thread(daemon=True, target=lambda: run([")
    script = script.rstrip() + ").start(); time.sleep(0.5)"
    done = subprocess.run(
        [sys.executable, "-c", script, "echo $$; sleep 60"], capture_output=True, text=True, timeout=10, check=True
    )
    assert dies(int(done.stdout), within=0.5)


def test_a_program_may_be_ended_by_what_it_has_told() -> None:
    reported: list[str] = []
    ended = run(["sh", "-c", "echo stage; sleep 60"], timeout=30, on_line=reported.append, late=lambda: bool(reported))
    assert (ended.timed_out, ended.out) == (True, "stage\n")
    assert ended.seconds < 5
