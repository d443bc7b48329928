"""However the application is left, nothing of it stays: no child, no screen that is not the shell's."""

from __future__ import annotations

import atexit
import os
import select
import signal
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

# What undoes each mode that textual's driver for Linux turns on (its stop_application_mode): pasting, wrapping, sizes
# in band, mouse, focus, Kitty's keyboard, and last the alternate screen; then the cursor.
USABLE = "".join(
    f"\x1b[{code}"
    for code in (
        "?2004l", "?7h", "?2048l", "?1000l", "?1002l", "?1003l", "?1015l", "?1006l", "?1016l", "?1004l", "<u", "?1049l",
        "?25h", "0m",
    )
)  # fmt: skip
PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG in prctl(2)
SERVER = "GPUDOCTOR_SERVER"  # the process id of `gpudoctor serve`, in the environment of those it serves


@contextmanager
def cleanly(served: bool) -> Iterator[None]:
    """For as long as the application runs: a signal that ends us gives the terminal back, and a lost one ends us.

    Args:
        served: whether a browser shows it, through `gpudoctor serve`; it then ends with its server too.
    """
    if served:
        end_with_the_server()
        yield from _until_left()
        return
    attributes = _attributes()

    def give_back() -> None:
        restore(attributes)

    atexit.register(give_back)  # before the children's end is: so it is the last to run
    try:
        yield from _until_left()
    except BaseException:
        give_back()
        raise
    finally:
        atexit.unregister(give_back)


def _until_left() -> Iterator[None]:
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # nohup: there is nothing to show to nobody
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        yield
    finally:
        examine = sys.modules.get("gpudoctor.examine")
        if examine is not None:
            examine.stop(final=True)


def _attributes() -> list[Any] | None:
    with suppress(termios.error, OSError):
        return termios.tcgetattr(0)
    return None


def restore(attributes: list[Any] | None) -> None:
    """Make the terminal the shell's again; where it is gone or takes nothing, leave it."""
    with suppress(termios.error, OSError):
        if attributes is not None:
            termios.tcsetattr(0, termios.TCSANOW, attributes)
    with suppress(OSError):
        if select.select([], [2], [], 0.1)[1]:
            os.write(2, USABLE.encode())


def end_with_the_server() -> None:
    """Have the kernel end us when the server is gone, however it ended: nobody would see us any more."""
    import ctypes

    ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, int(signal.SIGHUP), 0, 0, 0)
    server = os.environ.get(SERVER, "")
    if server.isdigit() and os.getppid() != int(server):  # it was gone before we asked
        os._exit(128 + signal.SIGHUP)
