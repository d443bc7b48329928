"""Runs a program as if we were not there: its terminal, its signals, its exit; and keeps what it wrote last."""

import atexit
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Event, Thread, get_ident
from typing import NamedTuple

from gpudoctor.cli.run_program.log_tail import Tail
from gpudoctor.cli.run_program.pty_relay import Relay
from gpudoctor.cli.run_program.spawn import located, start

# Signals that are meant for the program when they reach us.
RELAYED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGTSTP", "SIGCONT", "SIGWINCH")
ASKED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
STOPPED = {signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
SI_KERNEL = 0x80  # sigaction(2): the kernel sent it, as for Ctrl-C
QUIET = 0.3  # seconds that a process in the background, which holds the streams open, may be silent
LOOK = 1.0  # seconds after which we look for ourselves, should another thread have got the signal


class ProgramResult(NamedTuple):
    """How the program ended.

    Attributes:
        code: its exit code; 0 where a signal ended it.
        signal: the signal that ended it; 0: none.
        asked: somebody asked it to end, by Ctrl-C or by a signal to us.
        tail: what it wrote.
    """

    code: int
    signal: int
    asked: bool
    tail: Tail


def run(argv: Sequence[str], env: Mapping[str, str], begun: Callable[[int], object] | None = None) -> ProgramResult:
    """Run a program to its end.

    Args:
        argv: the program and its arguments.
        env: its environment.
        begun: gets its process id, while our signals are blocked.

    Raises:
        NotRunError: it is not there, or cannot be executed.
    """
    path = located(argv[0], env)
    tail = Tail()
    mine = {signal.SIGCHLD, *(getattr(signal, name) for name in RELAYED)}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, mine)
    try:
        relays, ends = _relays(tail)
        pid = start(path, argv, env, before, ends)
        for relay in relays:
            relay.start()
        if begun is not None:
            begun(pid)
        with _looking():
            code, number, asked = _wait(pid, mine, relays)
        for relay in relays:
            relay.end(QUIET)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return ProgramResult(code, number, asked, tail)


def die_by(number: int) -> None:
    """End by the signal that ended the program, so that who started us sees the same; returns where that fails."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()
    _die_by(number)


def leave(ended: ProgramResult) -> None:
    """End as the program has, without a look back: for a signal handler, when all is undone."""
    if ended.signal:
        _die_by(ended.signal)
    os._exit(128 + ended.signal if ended.signal else ended.code)


def _die_by(number: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program has written its own
    with suppress(OSError, ValueError):  # SIGKILL and SIGSTOP have no handler
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)


def _relays(tail: Tail) -> tuple[list[Relay], tuple[int, int]]:
    """The ways out, and the program's standard output and standard error; one way where both lead to one place."""
    out = Relay(1, tail.take(0))
    if _same(1, 2):
        return [out], (out.inner, out.inner)
    error = Relay(2, tail.take(1))
    return [out, error], (out.inner, error.inner)


def _same(one: int, other: int) -> bool:
    """Whether two descriptors lead to one place, so that the order of what is written to both counts."""
    try:
        a, b = os.fstat(one), os.fstat(other)
    except OSError:
        return False
    return (a.st_dev, a.st_ino, a.st_rdev) == (b.st_dev, b.st_ino, b.st_rdev)


# -- signals and the end -------------------------------------------------------------------------------------


@contextmanager
def _looking() -> Iterator[None]:
    """Have this thread woken once in a while.

    sigtimedwait would wake by itself. But when the process was stopped meanwhile (by SIGSTOP, or by the terminal) for
    longer than the time to wait, Python's returns what the kernel never filled in (3.10 to 3.13): a signal that nobody
    sent, which the program then got.
    """
    us, over = get_ident(), Event()

    def wake() -> None:
        while not over.wait(LOOK):
            signal.pthread_kill(us, signal.SIGCHLD)

    Thread(target=wake, daemon=True, name="look").start()
    try:
        yield
    finally:
        over.set()


def _wait(pid: int, mine: set[signal.Signals], relays: Sequence[Relay]) -> tuple[int, int, bool]:
    """Pass on signals until the program has ended: its code, its signal, and whether it was asked to end."""
    asked = False
    while True:
        info = signal.sigwaitinfo(mine)
        number = signal.Signals(info.si_signo)
        if number == signal.SIGCHLD:
            ended = _collected(pid, relays)
            if ended is not None:
                return *ended, asked
            continue
        asked = asked or number in ASKED
        if number == signal.SIGWINCH:
            for relay in relays:
                relay.resize()
        if info.si_code != SI_KERNEL or number == signal.SIGWINCH:  # the terminal's own reach the whole group
            with suppress(OSError):
                os.kill(pid, number)


def _collected(pid: int, relays: Sequence[Relay]) -> tuple[int, int] | None:
    """The program's code and signal, where it has ended; where it has stopped, stop too, as the shell expects it."""
    while (state := os.waitid(os.P_PID, pid, os.WEXITED | os.WSTOPPED | os.WNOHANG)) is not None:
        if state.si_code == os.CLD_EXITED:
            return state.si_status, 0
        if state.si_code in (os.CLD_KILLED, os.CLD_DUMPED):
            return 0, state.si_status
        if state.si_status in STOPPED and _is_stopped(pid):
            for relay in relays:
                relay.rest()
            os.kill(os.getpid(), signal.SIGSTOP)
    return None


def _is_stopped(pid: int) -> bool:
    """Whether it still is: somebody may have let it go on meanwhile."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"T", b"t")
    except (OSError, IndexError):
        return False
