"""The probes: one file, one source of facts. They look and never judge.

This file alone knows which probe feeds which part of the facts.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from gpudoctor.facts import Amd, ContainerHost, Gpu, Host, KernelLog, Nvidia, PciDevice, Toolkits
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe

Named = tuple[str, str, Callable[[], Any]]


def system_steps(machine: Machine, host: Host, devices: Sequence[PciDevice]) -> list[Named]:
    """The probes of the system, each with its key in the facts and its name for people."""
    nvidia = tuple(d for d in devices if d.vendor == "10de")
    amd = tuple(d for d in devices if d.vendor == "1002")

    def driver() -> tuple[Nvidia, Maybe[tuple[Gpu, ...]]]:
        from gpudoctor.probes import nvidia_kernel, nvidia_user

        # The kernel's side first: cuInit and nvmlInit may run nvidia-modprobe, which makes missing nodes.
        kernel = nvidia_kernel.probe(machine, host, nvidia)
        user, gpus = nvidia_user.probe(machine, host)
        return msgspec.structs.replace(user, kernel=kernel), gpus

    def amdgpu() -> Amd:
        from gpudoctor.probes import amd as probe

        return probe.probe(machine, host, amd)

    def kfd() -> Maybe[tuple[Gpu, ...]]:
        from gpudoctor.probes import kfd as probe

        return probe.gpus(machine, amd)

    def log() -> KernelLog:
        from gpudoctor.probes import log as probe

        return probe.probe(machine, host, frozenset(d.vendor for d in devices))

    def containers() -> ContainerHost:
        from gpudoctor.probes import docker

        return docker.probe(machine, host, wanted=bool(devices))

    def toolkits() -> Toolkits:
        from gpudoctor.probes import toolkits as probe

        return probe.probe(machine, host, wanted=bool(devices))

    return [
        ("nvidia", "NVIDIA's driver and GPUs", driver),
        ("amd", "AMD's driver", amdgpu),
        ("kfd", "AMD's GPUs", kfd),
        ("log", "the kernel's log", log),
        ("containers", "container engines", containers),
        ("toolkits", "CUDA toolkits", toolkits),
    ]
