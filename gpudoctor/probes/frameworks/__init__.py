"""Gathers the frameworks of an environment: what their files say, which libraries they would get, what they do."""

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from threading import BoundedSemaphore, Thread

import msgspec

from gpudoctor.facts.framework import Framework, LiveFramework
from gpudoctor.facts.python import Python
from gpudoctor.machine import Machine
from gpudoctor.maybe import Unknown
from gpudoctor.probes.frameworks.discovery import FoundFramework, find

# Seconds that an import waits for one of the cores, and the share of what is left that it waits at most: no healthy
# import from a warm disk takes so long, and those that hang use no core.
PATIENCE, SHARE = 20.0, 3


def static(machine: Machine, python: Python, kernels: bool = False) -> tuple[Framework, ...]:
    """Read what the frameworks' files say; nothing is imported.

    Args:
        machine: where they lie.
        python: the environment.
        kernels: count PyTorch's GPU code as well.
    """
    return tuple(_read(machine, python, found, kernels) for found in find(machine, python))


def probe(machine: Machine, python: Python, live: bool = False, gpu: bool = False) -> tuple[Framework, ...]:
    """Gather the frameworks of an environment.

    Args:
        machine: where they lie.
        python: the environment.
        live: import them too, each in a child of its own, at most as many at once as there are cores, unless
            some of them hang.
        gpu: an NVIDIA GPU is there, so that a full examination counts the GPU code.
    """
    if not live:
        return tuple(_with_needs(machine, python, each) for each in static(machine, python))
    wait = _import(machine, python, static(machine, python))
    # While the children import, this process reads the files.
    read = [_with_needs(machine, python, each) for each in static(machine, python, kernels=gpu)]
    lives = wait()
    reported = machine.system != "Linux"
    return tuple(msgspec.structs.replace(each, live=lives[each.name], **_told(each, lives, reported)) for each in read)


def _told(framework: Framework, lives: dict[str, LiveFramework], wanted: bool) -> dict[str, tuple[str, ...]]:
    """What it was compiled for, as it says itself: libraries of other systems are not read."""
    archs = lives[framework.name].archs
    if not wanted or not isinstance(framework.archs, Unknown) or isinstance(archs, Unknown) or not archs:
        return {}
    return {"archs": archs}


def _import(machine: Machine, python: Python, found: Sequence[Framework]) -> Callable[[], dict[str, LiveFramework]]:
    """Begin to import all; what is returned waits for the answers."""
    from gpudoctor.probes.frameworks.live import probe as ask

    slots, lives = BoundedSemaphore(max(1, _cores())), dict[str, LiveFramework]()
    faults: list[Exception] = []

    def one(framework: Framework) -> None:
        free = slots.acquire(timeout=machine.left(PATIENCE * SHARE) / SHARE)
        try:
            lives[framework.name] = ask(machine, python, framework)
        except Exception as fault:  # told by whoever waits: a thread's own traceback reaches nobody
            faults.append(fault)
        finally:
            if free:
                slots.release()

    def wait() -> dict[str, LiveFramework]:
        for thread in threads:
            thread.join()
        if faults:
            raise faults[0]
        return lives

    threads = [Thread(target=one, args=(framework,), daemon=True) for framework in found]
    for thread in threads:
        thread.start()
    return wait


def _cores() -> int:
    """The cores that we may use; Linux alone has an affinity to ask for."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _with_needs(machine: Machine, python: Python, framework: Framework) -> Framework:
    if machine.system != "Linux":
        why = Unknown("libraries are looked for on Linux only")
        return msgspec.structs.replace(framework, needs=why, optional=why)
    from gpudoctor.probes.frameworks.library_deps import optional
    from gpudoctor.probes.frameworks.library_deps import probe as needs

    found, further = needs(machine, python, framework), optional(machine, python, framework)
    return msgspec.structs.replace(framework, needs=found, optional=further)


def _read(machine: Machine, python: Python, found: FoundFramework, kernels: bool) -> Framework:
    """One framework; a file that breaks a reader must not hide the other frameworks."""
    try:
        return _reader(machine, python, found, kernels)
    except Exception as error:
        why = Unknown(f"its files could not be read: {type(error).__name__}: {error}")
        return Framework(name=found.name, location=found.location, version=why, cuda=why, hip=why, variant=why)


def _reader(machine: Machine, python: Python, found: FoundFramework, kernels: bool) -> Framework:
    read: Framework = import_module(f"gpudoctor.probes.frameworks.{found.name}").read(machine, python, found, kernels)
    return read
