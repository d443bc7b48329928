"""The probes: one file, one source of facts. They look and never judge.

This file alone knows which probe feeds which part of the facts.
"""

from collections.abc import Callable, Sequence
from typing import Any

from gpudoctor.facts import (
    Amd,
    Cloud,
    Cluster,
    ContainerHost,
    Gpu,
    Host,
    IntelFacts,
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

NVIDIA, AMD, INTEL = "10de", "1002", "8086"  # PCI vendors
Named = tuple[str, str, Callable[[], Any]]


def system_steps(machine: Machine, host: Callable[[], Host], devices: Callable[[], Sequence[PciDevice]]) -> list[Named]:
    """The probes of the system, each with its key in the facts and its name for people.

    Args:
        machine: where they look.
        host: waits for what the machine is.
        devices: waits for the devices on its PCI bus.
    """

    def of(vendor: str) -> tuple[PciDevice, ...]:
        return tuple(device for device in devices() if device.vendor == vendor)

    return [
        *_nvidia(machine, host, lambda: of(NVIDIA)),
        *_amd(machine, host, lambda: of(AMD)),
        _intel(machine, lambda: of(INTEL)),
        *_around(machine, host, devices),
        *_rented(machine, host),
    ]


def _nvidia(machine: Machine, host: Callable[[], Host], cards: Callable[[], tuple[PciDevice, ...]]) -> list[Named]:
    def first() -> NvidiaKernel:
        from gpudoctor.probes.nvidia import kernel

        return kernel.first(machine, host(), cards())

    seen: Lazy[NvidiaKernel | None] = Lazy(first, None)

    def kernel() -> NvidiaKernel:
        from gpudoctor.probes.nvidia import kernel

        return kernel.probe(machine, host(), cards(), seen.get())

    def driver() -> tuple[Nvidia, Maybe[tuple[Gpu, ...]]]:
        from gpudoctor.probes.nvidia import user_space

        seen.get()  # first what the kernel says: NVML and libcuda may run nvidia-modprobe, which changes it
        return user_space.probe(machine, host())

    return [("nvidia", "NVIDIA's libraries and GPUs", driver), ("nvidia kernel", "NVIDIA's kernel driver", kernel)]


def _amd(machine: Machine, host: Callable[[], Host], cards: Callable[[], tuple[PciDevice, ...]]) -> list[Named]:
    def driver() -> Amd:
        from gpudoctor.probes import amd

        return amd.probe(machine, host(), cards())

    def gpus() -> Maybe[tuple[Gpu, ...]]:
        from gpudoctor.probes import device_nodes

        if not machine.names(device_nodes.TOPOLOGY):  # then nothing of AMD's sensors need be loaded
            return ()
        from gpudoctor.probes.amd import kfd

        return kfd.gpus(machine, cards())

    return [("amd", "AMD's driver", driver), ("kfd", "AMD's GPUs", gpus)]


def _intel(machine: Machine, cards: Callable[[], tuple[PciDevice, ...]]) -> Named:
    def stack() -> IntelFacts:
        found = cards()
        if not found and not machine.exists("/dev/dxg"):  # then nothing of Intel's is looked for
            idle = Unknown("not looked for: there is no Intel GPU here")
            return IntelFacts(render=idle, loader=idle, level_zero=idle)
        from gpudoctor.probes import intel

        return intel.probe(machine, found)

    return "intel", "Intel's driver", stack


def _around(machine: Machine, host: Callable[[], Host], devices: Callable[[], Sequence[PciDevice]]) -> list[Named]:
    """What surrounds the drivers; tools are asked only where there is any device for them."""

    def log() -> KernelLog:
        from gpudoctor.probes import kernel_log as probe

        return probe.probe(machine, host(), frozenset(d.vendor for d in devices()))

    def containers() -> ContainerHost:
        from gpudoctor.probes import docker

        return docker.probe(machine, host(), wanted=bool(devices()))

    def toolkits() -> Toolkits:
        from gpudoctor.probes.nvidia import toolkits as probe

        return probe.probe(machine, host(), wanted=bool(devices()))

    return [
        ("log", "the kernel log", log),
        ("containers", "container engines", containers),
        ("toolkits", "CUDA toolkits", toolkits),
    ]


def _rented(machine: Machine, host: Callable[[], Host]) -> list[Named]:
    """Whose machine it is: a cluster's, a cloud's, that of Windows."""

    def cluster() -> Cluster:
        from gpudoctor.probes import cluster as probe

        return probe.probe(machine, host())

    def cloud() -> Cloud:
        from gpudoctor.probes import cloud as probe

        return probe.probe(machine)

    def windows() -> Wsl:
        from gpudoctor.probes.wsl import conf

        return conf.probe(machine, host())

    return [
        ("cluster", "the cluster and the job", cluster),
        ("cloud", "the cloud", cloud),
        ("windows", "WSL's settings", windows),
    ]
