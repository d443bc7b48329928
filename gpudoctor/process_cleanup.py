"""What is undone when this process ends: in order, or by a signal, of which thousands may come at once.

The handler runs in the main thread between two instructions of anything at all: of an import, of a lock's owner, of
the very same handler. So nothing here waits for a lock, logs, prints or imports, and neither may what is undone, with
one exception: a reentrant lock that every thread gives up within a few system calls (gpudoctor.children).
"""

import atexit
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

T = TypeVar("T")

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
MAKING_SECONDS = 0.5  # that a thread may take between making something and telling how it is undone: some microseconds

_first: list[Callable[[], object]] = []
_rest: list[Callable[[], object]] = []
_making: set[object] = set()
_asked: list[int] = []  # the number of the signal by which this process ends
_over: list[bool] = []  # whether undoing has begun, so that nothing is made any more


def at_end(function: Callable[[], object], *, first: bool = False) -> None:
    """Have a function called when this process ends; what came last goes first.

    Args:
        function: may be called more than once, and at any moment; what it raises is dropped.
        first: before all that is not, because it ends what could make new things to undo.
    """
    (_first if first else _rest).append(function)


def not_at_end(function: Callable[[], object]) -> None:
    """Take back `at_end`."""
    with suppress(ValueError):
        _rest.remove(function)


@contextmanager
def undone(make: Callable[[], T], undo: Callable[[T], object]) -> Iterator[T]:
    """What `make` makes, undone afterwards, also when a signal ends this process meanwhile.

    Raises:
        OSError: `make` raised it, or this process ends and makes nothing any more.
    """
    token = object()
    _making.add(token)  # before the look at `_over`: so either the end waits for us, or we see it
    try:
        if _over:
            raise InterruptedError("gpudoctor was interrupted")
        made = make()

        def function() -> None:
            undo(made)

        at_end(function)
    finally:
        _making.discard(token)
    try:
        yield made
    finally:
        function()
        not_at_end(function)


def undo_all() -> None:
    """Undo all that is left to be undone."""
    _over.append(True)
    for function in tuple(_first):
        with suppress(Exception):
            function()
    end = time.monotonic() + MAKING_SECONDS
    while _making and time.monotonic() < end:
        time.sleep(0.001)
    for function in reversed(tuple(_rest)):
        with suppress(Exception):
            function()


atexit.register(undo_all)


def handler(leave: Callable[[int], object]) -> Callable[[int, object], None]:
    """A handler for signals that undoes everything and leaves; any further signal is of no consequence.

    Args:
        leave: ends the process; gets the signal's number.
    """
    begun = os.getpid()

    def handle(number: int, _: object) -> None:
        if os.getpid() != begun:  # a child between fork and exec
            os._exit(128 + number)
        if _asked:
            return
        _asked.append(number)
        try:
            undo_all()
        finally:
            leave(number)

    return handle


def exit_by(number: int) -> None:
    """Leave with the exit code by which shells tell of a signal."""
    os._exit(128 + number)


def end_on_signals() -> None:
    """Have the signals that ask a process to end do so at once and in order; those that are ignored stay so."""
    for name in SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, handler(exit_by))


@contextmanager
def leaving_otherwise(number: int, leave: Callable[[int], object]) -> Iterator[None]:
    """While it lasts, a signal undoes everything and leaves in a way of its own; one that is ignored stays so."""
    before = signal.getsignal(number)
    if before is not signal.SIG_IGN:
        signal.signal(number, handler(leave))
    try:
        yield
    finally:
        signal.signal(number, before)
