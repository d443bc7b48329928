"""Runs a program under a deadline and says how it ended, without hanging or leaving a process behind."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

from gpudoctor import process_cleanup
from gpudoctor.children.process import ABANDONED, LIVE, LOCK, Child, let_others_go_on, wait_for

T = TypeVar("T")
LINUX = sys.platform == "linux"  # elsewhere what `Child` asks of the kernel does not exist


class ChildResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a child ended.

    Exactly one of `code`, `signal` ("SIGSEGV") and `missing` (why it could not be started, in the kernel's
    words) is set; none where nobody knows: the child was `abandoned` (it sleeps uninterruptibly, even after
    SIGKILL), or `cancelled` before it started, or somebody else collected it. `out` and `err` are cut in the
    middle where they are longer than 4 MiB. `seconds` is wall time.
    """

    argv: tuple[str, ...]
    code: int | None = None
    signal: str | None = None
    timed_out: bool = False
    cancelled: bool = False
    abandoned: bool = False
    missing: str | None = None
    out: str = ""
    err: str = ""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the program ran to its own end and returned 0."""
        return self.code == 0 and not self.timed_out and not self.cancelled


def run(
    argv: Sequence[str],
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
    cwd: str = "/",
    stdin: bytes = b"",
    grace: float = 1.0,
    on_line: Callable[[str], object] | None = None,
    late: Callable[[], bool] | None = None,
) -> ChildResult:
    """Run a program in a session of its own, for at most `timeout` + 2 `grace` + 0.5 seconds.

    Past `timeout` its group gets SIGTERM, `grace` later SIGKILL, another `grace` later it is abandoned.
    What is left of its group when it exits is killed, and so is the group when this process dies.
    The caller bounds how many run at the same time.

    Args:
        argv: the program, looked up in the PATH of `env` where it has no slash, and its arguments.
        timeout: seconds, starting the program included.
        env: the whole environment; None passes this process's own.
        cwd: the working directory; the root is never on a dead network mount.
        stdin: what the program can read; it finds the end of file after that.
        grace: seconds between two steps of ending the child.
        on_line: gets each line of stdout that ended in a newline, without it, as it arrives; must be quick.
        late: asked some times a second; True ends the program like the timeout, which may so differ by stage.

    Raises:
        ValueError: where an argument holds a null byte.
        BaseException: KeyboardInterrupt, and whatever `on_line` raises; the child is killed first.
    """
    if not LINUX:
        from gpudoctor.children import portable

        if Child.closing:
            return ChildResult(argv=tuple(argv), cancelled=True)
        how = {"timeout": timeout, "env": env, "cwd": cwd, "stdin": stdin, "grace": grace}
        return ChildResult(**portable.run(argv, **how, on_line=on_line, late=late))  # type: ignore[arg-type]
    started = time.monotonic()
    child = Child(tuple(argv), on_line)
    try:
        reap()
        child.start(stdin, env, cwd, started + timeout)
        child.conduct(started + timeout, grace, late)
    except BaseException:
        child.send(signal.SIGKILL)
        wait_for((child,), grace)
        raise
    finally:
        child.close()
    return _ended(child, time.monotonic() - started)


class Background(Generic[T]):
    """A function that waits for a child, run in a thread of its own so that its caller goes on meanwhile."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function, self._found = function, list[T]()
        self._thread = threading.Thread(target=self._work, daemon=True)
        with contextlib.suppress(RuntimeError):  # this user may have no more threads
            self._thread.start()

    def _work(self) -> None:
        with contextlib.suppress(Exception):  # `result` then raises it, where somebody hears it
            self._found.append(self._function())

    def result(self) -> T:
        """What the function returned; where it came to none, it is called again, here."""
        if self._thread.is_alive():
            let_others_go_on()
            self._thread.join()
        return self._found[0] if self._found else self._function()


def end_all(*, grace: float = 1.0, closing: bool = False) -> None:
    """End every running child, within 2 `grace` seconds, from any thread or signal handler.

    Their `run` calls return with `cancelled` set. With `closing`, all later calls start nothing and return so.
    """
    if closing:
        Child.closing = True
    if not LINUX:
        plain = sys.modules.get("gpudoctor.children.portable")  # a signal handler may not import
        if plain is not None:
            plain.end_all(grace)
        return
    with LOCK:
        children = tuple(LIVE)
    for child in children:
        child.cancelled = True
        child.send(signal.SIGTERM, signal.SIGCONT)
    wait_for(children, grace)
    for child in children:
        child.send(signal.SIGKILL)
    wait_for(children, grace)


process_cleanup.at_end(lambda: end_all(closing=True), first=True)


def reap() -> int:
    """Collect the abandoned children that have died since, and return how many have not."""
    with LOCK:
        ABANDONED[:] = [child for child in ABANDONED if not child.reap()]
        return len(ABANDONED)


def _ended(child: Child, seconds: float) -> ChildResult:
    status = child.status
    exited = status is not None and status.si_code == os.CLD_EXITED
    return ChildResult(
        argv=child.argv,
        code=status.si_status if status and exited else None,
        signal=_signal_name(status.si_status) if status and not exited else None,
        timed_out=child.timed_out,
        cancelled=child.cancelled,
        abandoned=not child.gone,
        # An exec that our own signal interrupted failed only because it had hung.
        missing=None if child.timed_out else _why_missing(child),
        out=child.out.text(),
        err=child.err.text(),
        seconds=seconds,
    )


def _why_missing(child: Child) -> str | None:
    error = child.failure
    if error is None:
        return None
    if not isinstance(error, OSError):
        raise error
    of = "" if error.filename in (None, child.argv[0]) else f": {error.filename}"
    return f"{error.strerror}{of}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # only the first and the last real-time signal have names
        return f"SIGRTMIN+{number - signal.SIGRTMIN}"


def own_environment() -> dict[str, str]:
    """Our own environment. PWD is the working directory, as the shell names it where it is a shell that set it.

    A program that starts another one in a directory of its choice leaves PWD as it was.
    """
    env = dict(os.environ)
    try:
        if not (os.path.isabs(env.get("PWD", "")) and os.path.samefile(env["PWD"], ".")):
            env["PWD"] = os.getcwd()
    except OSError:  # the working directory, or what PWD names, is gone
        env.pop("PWD", None)
        with contextlib.suppress(OSError):
            env["PWD"] = os.getcwd()
    return env
