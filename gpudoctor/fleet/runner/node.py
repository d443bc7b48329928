"""What runs on each node: says hello, checks the machine within a limit, and sends the report in lines."""

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from threading import Thread
from typing import TYPE_CHECKING, NoReturn

import msgspec

from gpudoctor.fleet.runner import protocol
from gpudoctor.process_cleanup import undo_all

if TYPE_CHECKING:
    from gpudoctor.report.model import Report

# Names that a launcher gives each node, where it does not give it as an argument: srun(1).
NAMES = ("SLURMD_NODENAME",)
# Of the limit, the seconds that are left for judging, writing and the end of children, and their share at most.
REST, REST_SHARE = 8.0, 0.4
# Seconds that the end may take when the limit is reached, before the kernel makes it.
LAST = 2.0
LATE = 3  # the exit code: too little could be found out

Write = Callable[[str], None]


def own_name(env: Mapping[str, str] = os.environ) -> str:
    """The name of this node where nobody gave one."""
    return next((env[name] for name in NAMES if env.get(name)), "") or os.uname().nodename


def answer(name: str, seconds: float, write: Write, *, quick: bool, smoke: bool, sent: str = "") -> None:
    """Say hello, examine, and send the report.

    Args:
        name: of this node, in the ledger.
        seconds: after which the report has to be sent.
        write: takes each line, without its end.
        quick: import no framework.
        smoke: run the quick suite of smoke tests.
        sent: files of expectations, as `sent.packed` packs them.

    Raises:
        ExpectFileError: a file of expectations cannot be used.
    """
    begun = time.monotonic()
    write(protocol.hello(name))
    from gpudoctor import pipeline
    from gpudoctor.expect.discovery import of_node
    from gpudoctor.fleet.runner.payload import unpacked
    from gpudoctor.machine import Machine
    from gpudoctor.smoketests import quick_suite

    options = pipeline.CheckOptions(quick=quick, smoke=quick_suite() if smoke else None, expect=of_node(unpacked(sent)))
    left = seconds - (time.monotonic() - begun)
    report = pipeline.check(Machine(seconds=max(1.0, left - min(REST, left * REST_SHARE))), options)
    for line in protocol.lines(name, compact(report)):
        write(line)


def compact(report: "Report") -> bytes:
    """The report as `gpudoctor check --json` writes it, on one line."""
    from gpudoctor.privacy.secrets import harmless
    from gpudoctor.report.sanitize import document

    return msgspec.json.format(document(harmless(report)).encode(), indent=-1)


def only_lines() -> Write:
    """What writes lines to standard output; whatever else this process writes there goes to standard error from now on.

    A line is one write, which a pipe keeps in one piece (wire.py). When nobody reads any more, this process ends.
    """
    sys.stdout.flush()
    number = os.dup(1)
    os.dup2(2, 1)
    if sys.platform == "linux":
        Thread(target=_end_with, args=(number,), daemon=True, name="reader").start()

    def write(line: str) -> None:
        data = line.encode() + b"\n"
        while data:
            data = data[os.write(number, data) :]

    return write


def _end_with(number: int) -> None:
    """End when those who asked has gone: ssh ends nothing there, and what goes on would disturb those who asks next."""
    import select

    poll = select.poll()
    poll.register(number, 0)  # tells of errors and of the other end's being closed alone, poll(2)
    poll.poll()
    _leave(128 + signal.SIGPIPE)  # as a shell tells the end of those who write on regardless


def end_in(seconds: float) -> None:
    """End this process when its limit is reached, whatever it waits for: nobody may be left to end it."""
    if hasattr(signal, "setitimer"):  # made by the kernel, so no thread and no lock of ours can hold it up
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds + LAST)
    Thread(target=_end, args=(seconds,), daemon=True, name="limit").start()


def _end(seconds: float) -> NoReturn:
    time.sleep(seconds)
    message = f"gpudoctor: The check did not finish within its limit of {seconds:g} s.\n"
    os.write(2, message.encode())
    _leave(LATE)


def _leave(code: int) -> NoReturn:
    undo_all()
    os._exit(code)
