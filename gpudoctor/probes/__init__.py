"""The probes: one file, one source of facts. They look and never judge.

This file alone knows which probe feeds which part of the facts.
"""

from collections.abc import Callable, Sequence
from typing import Any

from gpudoctor.facts import Amd, ContainerHost, Gpu, Host, KernelLog, Nvidia, NvidiaKernel, PciDevice, Toolkits
from gpudoctor.later import Later
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe

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

    def first() -> NvidiaKernel:
        from gpudoctor.probes import nvidia_kernel

        return nvidia_kernel.first(machine, host(), of("10de"))

    seen: Later[NvidiaKernel | None] = Later(first, None)

    def kernel() -> NvidiaKernel:
        from gpudoctor.probes import nvidia_kernel

        return nvidia_kernel.probe(machine, host(), of("10de"), seen.get())

    def driver() -> tuple[Nvidia, Maybe[tuple[Gpu, ...]]]:
        from gpudoctor.probes import nvidia_user

        seen.get()  # first what the kernel says: NVML and libcuda may run nvidia-modprobe, which changes it
        return nvidia_user.probe(machine, host())

    def amdgpu() -> Amd:
        from gpudoctor.probes import amd as probe

        return probe.probe(machine, host(), of("1002"))

    def kfd() -> Maybe[tuple[Gpu, ...]]:
        from gpudoctor.probes import kfd as probe

        return probe.gpus(machine, of("1002"))

    def log() -> KernelLog:
        from gpudoctor.probes import log as probe

        return probe.probe(machine, host(), frozenset(d.vendor for d in devices()))

    def containers() -> ContainerHost:
        from gpudoctor.probes import docker

        return docker.probe(machine, host(), wanted=bool(devices()))

    def toolkits() -> Toolkits:
        from gpudoctor.probes import toolkits as probe

        return probe.probe(machine, host(), wanted=bool(devices()))

    return [
        ("nvidia", "NVIDIA's libraries and GPUs", driver),
        ("nvidia kernel", "NVIDIA's kernel driver", kernel),
        ("amd", "AMD's driver", amdgpu),
        ("kfd", "AMD's GPUs", kfd),
        ("log", "the kernel's log", log),
        ("containers", "container engines", containers),
        ("toolkits", "CUDA toolkits", toolkits),
    ]
