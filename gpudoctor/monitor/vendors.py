"""What each vendor's sampler is told, and what is known of its GPUs before it answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from gpudoctor.facts import Gpu, Host
from gpudoctor.machine import Machine
from gpudoctor.maybe import Unknown
from gpudoctor.probes import pci
from gpudoctor.probes.amd import kfd
from gpudoctor.probes.amd.sysfs_paths import amd_task
from gpudoctor.probes.nvidia.nvml import pynvml_folder
from gpudoctor.sampling.lines import MonitorDevice, Slice
from gpudoctor.targets import AMD


class SamplerTask(NamedTuple):
    """What a sampler is told: the last argument of workers/sampler.py, and the GPUs that are known before."""

    argument: str
    gpus: tuple[Gpu, ...] = ()


class Vendor(NamedTuple):
    """A vendor whose driver can be asked.

    Attributes:
        name: in facts.
        driver: for people.
        task: looks for what is to be asked; a sentence where there is nothing.
    """

    name: str
    driver: str
    task: Callable[[Machine], SamplerTask | str]


def device_of(gpu: Gpu) -> MonitorDevice:
    """What the facts say of a GPU that hardly changes."""
    shared = {
        name for name in MonitorDevice.__struct_fields__ if name in Gpu.__struct_fields__ and name != "mig_devices"
    }
    slices = gpu.mig_devices
    return MonitorDevice(
        **{name: getattr(gpu, name) for name in shared},
        memory_clock_max=Unknown("not in the facts"),
        mig_devices=tuple(Slice(uuid=uuid) for uuid in slices) if isinstance(slices, tuple) else slices,
    )


def _nvidia(machine: Machine) -> SamplerTask | str:
    return SamplerTask(pynvml_folder()) if machine.here else "libraries are not queried under another root"


def _amd(machine: Machine) -> SamplerTask | str:
    """The GPUs that amdgpu drives, in KFD's order; what their files say once is read here."""
    cards = pci.probe(machine, Host(wsl=None))
    if isinstance(cards, Unknown) or not any(card.vendor == AMD and card.role == "gpu" for card in cards):
        return "there is no AMD GPU on the PCI bus"
    found = kfd.gpus(machine, cards)
    if isinstance(found, Unknown) or not found:
        return found.unknown if isinstance(found, Unknown) else "the kernel's compute driver lists no AMD GPU"
    first = {gpu.address: gpu for gpu in reversed(found)}  # partitions of one GPU share its address
    return SamplerTask(amd_task(machine, found), tuple(first.values()))


VENDORS = (Vendor("nvidia", "NVIDIA's driver", _nvidia), Vendor("amd", "amdgpu", _amd))


def lines_before(task: SamplerTask) -> list[dict[str, object]]:
    """What a task knows of its GPUs, as a sampler would tell it."""
    return [{"gpu": f"GPU {gpu.index}", "device": msgspec.to_builtins(device_of(gpu))} for gpu in task.gpus]
