"""NVIDIA's device nodes, a Jetson's nvmap among them, and what the kernel answers when the user opens them."""

import re

from gpudoctor.facts import DeviceNode, PciDevice
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Unknown, known_or
from gpudoctor.probes import device_nodes

_NODE = pattern(
    r"nvidia\d+|nvidiactl|nvidia-uvm|nvidia-uvm-tools|nvidia-modeset|nvidia-nvswitch\w+|nvidia-nvlink|nvmap|dxg"
)
_GPU = pattern(r"/dev/nvidia(\d+)")
_FOLDERS = ("nvidia-caps", "nvidia-caps-imex-channels")
# Computing needs none of these open for writing: nodes of MIG's rights are made for reading only.
_LEFT_ALONE = pattern(r"/dev/nvidia-(?:caps/|modeset|nvswitch|nvlink|uvm-tools)")


def probe(machine: Machine, cards: tuple[PciDevice, ...]) -> tuple[DeviceNode, ...]:
    """Return the nodes under /dev; those of sleeping GPUs are not opened, because that would wake them."""
    names = [name for name in machine.names("/dev") if _NODE.fullmatch(name)]
    paths = [f"/dev/{name}" for name in sorted(names, key=_by_number)]
    paths += [f"/dev/{folder}/{name}" for folder in _FOLDERS for name in machine.names(f"/dev/{folder}")]
    asleep = _asleep(machine, cards)
    why = {path: _left_closed(path, asleep) for path in paths}
    return device_nodes.look(machine, paths, {path: reason for path, reason in why.items() if reason})


def _by_number(name: str) -> tuple[str, int]:
    number = re.search(r"\d+$", name)
    return name.rstrip("0123456789"), int(number[0]) if number else -1


def _left_closed(path: str, asleep: set[int] | None) -> Unknown | None:
    """Why a node is not opened; None where it is."""
    if _LEFT_ALONE.match(path):
        return Unknown("not opened: not needed for computing")
    gpu = _GPU.fullmatch(path)
    if gpu and (asleep is None or int(gpu[1]) in asleep):
        return Unknown("the GPU sleeps: not opened")
    return None


def _asleep(machine: Machine, cards: tuple[PciDevice, ...]) -> set[int] | None:
    """Return the minor numbers of sleeping GPUs; None where a GPU sleeps and its number is not known."""
    sleeping = [c.address for c in cards if known_or(c.runtime_status, None) == "suspended"]
    minors: set[int] = set()
    for address in sleeping:
        text = machine.line(f"/proc/driver/nvidia/gpus/{address}/information") or ""
        found = re.search(r"Device Minor:\s*([0-9]{1,9})\b", text)
        if found is None:
            return None
        minors.add(int(found[1]))
    return minors
