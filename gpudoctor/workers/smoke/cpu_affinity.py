"""Keeps the process on the CPUs next to its GPU: memory at the far socket is slower, and would pass for the link."""

from __future__ import annotations

import os
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .runner import Bench

LOCAL = "/sys/bus/pci/devices/%s/local_cpulist"


@contextmanager
def near(bench: Bench, place: str = LOCAL) -> Iterator[None]:
    """Work on the CPUs of the GPU's NUMA node, and put the choice of CPUs back afterwards.

    What this thread writes first lies in that node's memory. The note `affinity` says why it was not done: a sentence,
    or None where it was, or where there is no GPU.

    Args:
        bench: what the test works with; `task["address"]` is the GPU's place on the PCI bus.
        place: where the kernel lists the CPUs next to a device.
    """
    if bench.backend.kind == "cpu":
        bench.note(affinity=None)
        yield
        return
    before, why = None, None
    try:
        wanted, before = _wanted(bench.task.get("address"), place), os.sched_getaffinity(0)
        why = _set(wanted & before, before, wanted)
    except _Unknown as reason:
        why = str(reason)
    except (OSError, AttributeError) as error:
        why = "CPU affinity cannot be set: %s." % (getattr(error, "strerror", None) or error)
    bench.note(affinity=why)
    try:
        yield
    finally:
        if before is not None and why is None:
            os.sched_setaffinity(0, before)


def cpus(text: str) -> set[int]:
    """The numbers of a list as the kernel writes it, such as 0-3,8.

    Raises:
        ValueError: it is none.
    """
    found: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


class _Unknown(Exception):
    """Nobody says which CPUs are next to the GPU."""


def _wanted(address: str | None, place: str) -> set[int]:
    if not address:
        raise _Unknown("The GPU's PCI address is unknown.")
    path = place % address
    try:
        with open(path, encoding="ascii") as lines:
            found = cpus(lines.read())
    except OSError as error:
        raise _Unknown("%s cannot be read: %s." % (path, error.strerror)) from error
    except ValueError as error:
        raise _Unknown("%s is not a list of CPUs." % path) from error
    if not found:
        raise _Unknown("%s names no CPU." % path)
    return found


def _set(chosen: set[int], before: set[int], wanted: set[int]) -> str | None:
    """Choose CPUs; a sentence where this process may use none of those wanted."""
    if not chosen:
        return "This process may use none of the CPUs local to the GPU (%s)." % ",".join(map(str, sorted(wanted)))
    if chosen != before:
        os.sched_setaffinity(0, chosen)
    return None
