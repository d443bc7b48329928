"""Where the script that samples AMD's GPUs finds them in sysfs: what workers/sampler_amd.py needs."""

from collections.abc import Sequence

import msgspec

from gpudoctor.facts import Gpu
from gpudoctor.machine import Machine
from gpudoctor.maybe import text_of
from gpudoctor.parsers.numbers import whole
from gpudoctor.probes.device_nodes import TOPOLOGY
from gpudoctor.probes.pci.link import GENERATIONS, card
from gpudoctor.targets import AMD

KFD_PROCESSES = "/sys/class/kfd/kfd/proc"


def amd_task(machine: Machine, gpus: Sequence[Gpu]) -> str:
    """Return the task in JSON; of partitions, which share one address, the first stands for all.

    Args:
        machine: where the GPUs are.
        gpus: AMD's, as KFD lists them.
    """
    placed = {gpu.address: gpu for gpu in reversed(gpus) if isinstance(gpu.address, str)}
    reported = [
        {
            "name": f"GPU {gpu.index}",
            "folder": (folder := f"/sys/bus/pci/devices/{address}"),
            "link": card(machine, machine.real(folder), AMD),
            "kfd": _kfd(machine, gpu),
        }
        for address, gpu in placed.items()
    ]
    return msgspec.json.encode({"gpus": reported, "users": KFD_PROCESSES, "generations": GENERATIONS}).decode()


def _kfd(machine: Machine, gpu: Gpu) -> int | None:
    """The number by which the kernel's compute driver calls a GPU, found by its render node."""
    minor = text_of(gpu.render_node).rpartition("renderD")[2]
    for node in machine.names(TOPOLOGY):
        properties = (machine.line(f"{TOPOLOGY}/{node}/properties") or "").splitlines()
        number = machine.line(f"{TOPOLOGY}/{node}/gpu_id") or ""
        if f"drm_render_minor {minor}" in properties:
            return whole(number)
    return None
