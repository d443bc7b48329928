"""Starts a program as a shell does: found on PATH, with our own streams or what stands in for them."""

import errno
import os
import signal
import sys
from collections.abc import Mapping, Sequence

NOT_FOUND, NOT_RUN = 127, 126  # as shells say it
PR_SET_PDEATHSIG = 1  # prctl(2)
# What -P does, which Python has from 3.11 on.
WITHOUT_WORKING_DIRECTORY = (
    "import os, sys; sys.path[0] = os.path.dirname(os.__file__); from {}.__main__ import main; main()"
)


class NotRunError(Exception):
    """The program could not be started; the message is one sentence."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def ourselves(*words: str, program: str = "gpudoctor") -> list[str]:
    """A command of ours by this interpreter, with the working directory left out of the module path."""
    start = ["-P", "-m", program] if sys.version_info >= (3, 11) else ["-c", WITHOUT_WORKING_DIRECTORY.format(program)]
    return [sys.executable, *start, *words]


def located(name: str, env: Mapping[str, str]) -> str:
    """The file that a shell would run.

    Raises:
        NotRunError: there is none, or it is not executable.
    """
    folders = env.get("PATH", os.defpath).split(":") if "/" not in name else [""]
    closed = False
    for folder in folders:
        path = name if "/" in name else f"{folder or '.'}/{name}"
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
        closed = closed or os.path.isfile(path) or ("/" in name and os.path.exists(path))
    if closed:
        what = "is a directory" if os.path.isdir(name) else "is not executable"
        raise NotRunError(f"{name} {what}.", NOT_RUN)
    active = env.get("VIRTUAL_ENV", "")
    gone = f" The active environment {active} is gone: it was moved or removed." if _is_gone(active) else ""
    raise NotRunError(f"There is no {'file' if '/' in name else 'command'} {name}.{gone}", NOT_FOUND)


def _is_gone(environment: str) -> bool:
    return bool(environment) and not os.path.exists(environment)


def start(
    path: str, argv: Sequence[str], env: Mapping[str, str], mask: set[int | signal.Signals], ends: tuple[int, int]
) -> int:
    """Fork and execute; gives the process id.

    Raises:
        NotRunError: the kernel refused it.
    """
    tied = _tie()
    reported, tells = os.pipe()  # closed by exec, so that silence means that the program runs
    pid = os.fork()
    if pid == 0:
        _become(path, argv, env, mask, ends, tells, tied)
    os.close(tells)
    said = os.read(reported, 64)
    os.close(reported)
    if said:
        os.waitpid(pid, 0)
        number = int(said)
        why = (
            "the interpreter named in its first line does not exist" if number == errno.ENOENT else os.strerror(number)
        )
        raise NotRunError(f"{argv[0]} cannot be run: {why}.", NOT_RUN)
    return pid


def _become(  # pragma: no cover - in the child, where nothing measures
    path: str, argv: Sequence[str], env: Mapping[str, str], mask: set[int | signal.Signals], ends: tuple[int, int],
    tells: int, tied: object,
) -> None:  # fmt: skip
    """In the child: be the program, with our own streams and what we were given."""
    try:
        if callable(tied):
            tied(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.dup2(ends[0], 1)
        os.dup2(ends[1], 2)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores for itself
            signal.signal(number, signal.SIG_DFL)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # what waits for the mask is not for our handler
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        try:
            os.execve(path, list(argv), dict(env))  # noqa: S606 - the very command that was asked for
        except OSError as error:
            if error.errno != errno.ENOEXEC:  # a script without a first line that names its shell, execvp(3)
                raise
            os.execve("/bin/sh", ["sh", path, *argv[1:]], dict(env))  # noqa: S606
    except OSError as error:
        os.write(tells, str(error.errno or 0).encode())
    finally:
        os._exit(NOT_RUN)


def _tie() -> object:
    """What has the kernel end the child when we die without a word, as by SIGKILL; None where there is no prctl."""
    try:
        import ctypes

        return ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return None
