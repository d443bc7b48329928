"""However the application is left, nothing of it stays: no child, no screen that is not the shell's."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any

from gpudoctor.cli.terminal import write_last
from gpudoctor.process_cleanup import at_end, end_on_signals, exit_by, not_at_end

# What undoes each mode that textual's driver for Linux turns on (its stop_application_mode): pasting, wrapping, sizes
# in band, mouse, focus, Kitty's keyboard, and last the alternate screen; then the cursor.
USABLE = "".join(
    f"\x1b[{code}"
    for code in (
        "?2004l", "?7h", "?2048l", "?1000l", "?1002l", "?1003l", "?1015l", "?1006l", "?1016l", "?1004l", "<u", "?1049l",
        "?25h", "0m",
    )
)  # fmt: skip

LAST = 10.0  # seconds for an end in order, which takes two where a child has to be killed


@contextmanager
def cleanly(served: bool) -> Iterator[None]:
    """For as long as the application runs: whatever ends us gives the terminal back, and a lost one ends us.

    Args:
        served: whether `gpudoctor serve` shows it in a browser, so that there is no terminal to give back.
    """
    attributes = None if served else _attributes()

    def give_back() -> None:
        if not served:
            restore(attributes)

    at_end(give_back)
    _end_when_left_alone()
    try:
        yield
    except BaseException:
        give_back()
        raise
    finally:
        not_at_end(give_back)
        examine = sys.modules.get("gpudoctor.pipeline")
        if examine is not None:
            examine.stop(final=True)


def _end_when_left_alone() -> None:
    """End, as by SIGHUP, when the other end of standard input is gone: the terminal's window, or our server.

    The kernel sends the signal itself in most cases; not to those whom a shell shields from it (nohup), and not where
    standard input is a pipe. Nobody sees us any more then, and textual would read nothing for ever.
    """
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        end_on_signals()

    def watch() -> None:
        watched = select.poll()
        watched.register(0, 0)  # a hang-up is told to who asks for nothing
        watched.poll()
        os.kill(os.getpid(), signal.SIGHUP)
        time.sleep(LAST)  # the handler needs the main thread, and that may wait for a dead disk
        exit_by(signal.SIGHUP)

    Thread(target=watch, daemon=True, name="left alone").start()


def _attributes() -> list[Any] | None:
    with suppress(termios.error, OSError):
        return termios.tcgetattr(0)
    return None


def restore(attributes: list[Any] | None) -> None:
    """Make the terminal the shell's again; where it is gone, takes nothing, or is another's by now, leave it."""
    with suppress(OSError):  # no terminal of our session: nobody else's either
        if os.tcgetpgrp(0) != os.getpgrp():  # a process in the background that touches it is stopped
            return
    with suppress(termios.error, OSError):
        if attributes is not None:
            termios.tcsetattr(0, termios.TCSANOW, attributes)
    write_last(USABLE)
