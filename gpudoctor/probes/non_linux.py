"""The steps of a check on macOS and on native Windows, where nothing of Linux's exists to be read.

The parts of the facts that no step fills are then what `gpudoctor.probes.Probe.elsewhere` gives.
"""

from collections.abc import Callable

import msgspec

from gpudoctor.facts import Gpu, Host, Nvidia, PciDevice
from gpudoctor.lazy import Lazy
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.probes import Named


class Foreign(msgspec.Struct, frozen=True):
    """What takes the place of Linux's probes: those of the machine and of its bus, and the further steps."""

    host: Callable[[], Host]
    pci: Callable[[], Maybe[tuple[PciDevice, ...]]]
    steps: tuple[Named, ...]


def probes(machine: Machine, quick: bool) -> Foreign:
    """The probes of a machine that is no Linux."""
    return _apple(machine, quick) if machine.system == "Darwin" else _windows(machine, quick)


def _apple(machine: Machine, quick: bool) -> Foreign:
    from gpudoctor.probes import apple

    seen = Lazy(lambda: apple.look(machine), apple.Mac())
    steps = (
        ("nvidia", "NVIDIA's driver", lambda: (Nvidia(), ())),
        ("kfd", "the GPU", lambda: apple.gpus(seen.get())),
        ("apple", "macOS", lambda: apple.facts(seen.get())),
    )
    return Foreign(lambda: apple.host(machine, seen.get(), quick), tuple, steps)


def _windows(machine: Machine, quick: bool) -> Foreign:
    from gpudoctor.probes import windows
    from gpudoctor.probes.windows import nvidia

    silent = windows.Answer(error="the probe did not respond")
    seen = Lazy(lambda: windows.look(machine), silent)
    driver: Lazy[tuple[Nvidia, Maybe[tuple[Gpu, ...]]]] = Lazy(
        lambda: nvidia.probe(machine, quick), (Nvidia(), Unknown("the probe did not respond"))
    )
    steps = (
        ("nvidia", "NVIDIA's driver and GPUs", driver.get),
        ("kfd", "other GPUs", tuple),
        ("windows", "Windows", lambda: windows.facts(seen.get())),
    )
    return Foreign(
        lambda: windows.host(machine, seen.get(), quick),
        lambda: windows.devices(seen.get(), driver.get()[1]),
        steps,
    )
