"""The steps of an examination on macOS and on native Windows, where nothing of Linux's exists to be read."""

from collections.abc import Callable
from typing import Any, NamedTuple

from gpudoctor.facts import (
    Amd,
    Cloud,
    Cluster,
    ContainerHost,
    Gpu,
    Host,
    KernelLog,
    Nvidia,
    NvidiaKernel,
    PciDevice,
    Toolkits,
    Wsl,
)
from gpudoctor.lazy import Lazy
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown

Named = tuple[str, str, Callable[[], Any]]


class Foreign(NamedTuple):
    """What takes the place of Linux's probes: those of the machine and of its bus, and the further steps."""

    host: Callable[[], Host]
    pci: Callable[[], Maybe[tuple[PciDevice, ...]]]
    steps: tuple[Named, ...]


def probes(machine: Machine) -> Foreign:
    """The probes of a machine that is no Linux."""
    return _apple(machine) if machine.system == "Darwin" else _windows(machine)


def _apple(machine: Machine) -> Foreign:
    from gpudoctor.probes import apple

    seen = Lazy(lambda: apple.look(machine), apple.Mac())
    steps = (
        ("nvidia", "NVIDIA's driver", lambda: (Nvidia(), ())),
        ("kfd", "the GPU", lambda: apple.gpus(seen.get())),
        ("apple", "macOS", lambda: apple.facts(seen.get())),
    )
    return Foreign(lambda: apple.host(machine, seen.get()), tuple, (*steps, *_nothing()))


def _windows(machine: Machine) -> Foreign:
    from gpudoctor.probes import windows
    from gpudoctor.probes.windows import nvidia

    silent = windows.Answer(error="the probe did not respond")
    seen = Lazy(lambda: windows.look(machine), silent)
    driver: Lazy[tuple[Nvidia, Maybe[tuple[Gpu, ...]]]] = Lazy(
        lambda: nvidia.probe(machine), (Nvidia(), Unknown("the probe did not respond"))
    )
    steps = (
        ("nvidia", "NVIDIA's driver and GPUs", driver.get),
        ("kfd", "other GPUs", tuple),
        ("nt", "Windows", lambda: windows.facts(seen.get())),
    )
    return Foreign(
        lambda: windows.host(machine, seen.get()),
        lambda: windows.devices(seen.get(), driver.get()[1]),
        (*steps, *_nothing()),
    )


def _nothing() -> tuple[Named, ...]:
    """The parts of the facts that are Linux's alone: what must be known is known not to be there."""
    amd = Amd(loaded=False, kfd=(), render=(), topology=False, rocm=None, rocm_path=None, dxg=False, boards=())
    parts: dict[str, Any] = {
        "nvidia kernel": NvidiaKernel(modules=(), nodes=()),
        "amd": amd,
        "log": KernelLog(events=()),
        "containers": ContainerHost(),
        "cluster": Cluster(),
        "cloud": Cloud(),
        "windows": Wsl(gpu=None, ldconfig=None),
        "toolkits": Toolkits(),
    }
    return tuple((key, key, lambda part=part: part) for key, part in parts.items())
