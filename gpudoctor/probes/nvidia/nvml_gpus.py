"""Makes GPUs of what the child told about each, with what the kernel and our own tables know besides."""

from typing import Any

import msgspec

from gpudoctor.facts import Gpu
from gpudoctor.facts.validation import of_child
from gpudoctor.knowledge.generations import generation_of_capability, generations
from gpudoctor.knowledge.nvml import event_reasons, fabric_health, name_of, nvml_names
from gpudoctor.knowledge.pci_ids import nvidia_chip
from gpudoctor.machine import Machine
from gpudoctor.maybe import Unknown
from gpudoctor.probes.staged_child import StagedOutput

# What every GPU has: here NVML's "Not Supported" is no answer.
_NEVER_ABSENT = ("name", "status", "processes")
_NAMED = ("compute_mode", "virtualization", "fabric_state", "recovery_action")


def gpus(machine: Machine, reported: StagedOutput, count: int, wsl: bool) -> tuple[Gpu, ...]:
    """Return one GPU for each that NVML counted, known or not."""
    rows = {row["index"]: row for row in reported.rows}
    found = tuple(_gpu(machine, index, dict(rows.get(index, {})), reported.why, wsl) for index in range(count))
    return _placed(found, machine.names("/proc/driver/nvidia/gpus"))


def _placed(found: tuple[Gpu, ...], addresses: list[str]) -> tuple[Gpu, ...]:
    """Give the one GPU that cannot tell its address, for it is lost, the one that is left over in the kernel's list."""
    free = set(addresses) - {gpu.address for gpu in found if isinstance(gpu.address, str)}
    without = [gpu for gpu in found if isinstance(gpu.address, Unknown)]
    if len(found) != len(addresses) or len(without) != 1 or len(free) != 1:
        return found
    return tuple(msgspec.structs.replace(g, address=next(iter(free))) if g is without[0] else g for g in found)


def _gpu(machine: Machine, index: int, row: dict[str, Any], why: str, wsl: bool) -> Gpu:
    error = row.pop("error", None)
    missing = error if isinstance(error, dict) else {"unknown": why}
    values: dict[str, Any] = dict.fromkeys((f.name for f in msgspec.structs.fields(Gpu)), missing)
    values |= row
    device, architecture = values.pop("device", missing), values.pop("architecture", missing)
    values |= {"vendor": "nvidia", "index": index, "gfx": None}
    values |= _named(values) | _chip(device, values["capability"], architecture) | _memory_kind(values["memory"])
    nodes = _of_the_kernel(machine, values["address"])
    values |= dict.fromkeys(nodes, None) if wsl else nodes  # WSL shows its GPU in no PCI or DRM folder
    for name in _NEVER_ABSENT:
        values[name] = {"unknown": "NVML: Not Supported"} if values[name] is None else values[name]
    if isinstance(values["processes"], list):
        values["processes"] = [_process(machine, process) for process in values["processes"]]
    try:
        return of_child(Gpu, values)
    except msgspec.ValidationError as problem:
        return Gpu(vendor="nvidia", index=index, status=Unknown(f"invalid output of the child process: {problem}"))


def _named(values: dict[str, Any]) -> dict[str, Any]:
    """NVML's numbers under their names."""
    tables = nvml_names()
    named: dict[str, Any] = {n: name_of(getattr(tables, n), values[n]) for n in _NAMED if isinstance(values[n], int)}
    reasons, mask, summary = values["event_reasons"], values["fabric_health"], values.pop("fabric_summary", None)
    if isinstance(reasons, int):
        named["event_reasons"] = event_reasons(reasons)
    if isinstance(mask, int) or (mask is None and isinstance(summary, int) and summary):
        named["fabric_health"] = fabric_health(mask or 0, summary if isinstance(summary, int) else 0)
    return named


def _chip(device: object, capability: object, architecture: object) -> dict[str, Any]:
    """Chip and generation, by the PCI device id, the compute capability and NVML's number of the architecture."""
    chip = nvidia_chip(device) if isinstance(device, str) else None
    found = generation_of_capability(capability) if isinstance(capability, str) else None
    found = found or next((g for g in generations() if g.nvml is not None and g.nvml == architecture), None)
    return {
        "chip": chip.code if chip else _unlisted("PCI device", device),
        "generation": found.name if found else _unlisted("compute capability", capability),
    }


def _unlisted(what: str, reported: object) -> object:
    if reported is None:
        return {"unknown": f"NVML reports no {what}"}
    return {"unknown": f"{what} {reported} is in no table"} if isinstance(reported, str) else reported


def _memory_kind(memory: object) -> dict[str, Any]:
    """A GPU for which NVML supports no memory shares the processor's: GB10 and Jetson, NVIDIA's integrated GPUs."""
    return {"integrated": memory is None if memory is None or isinstance(memory, int) else memory}


def _of_the_kernel(machine: Machine, address: object) -> dict[str, Any]:
    """NUMA node and render node, from sysfs; -1 there means that the machine has one node."""
    if not isinstance(address, str):
        return dict.fromkeys(("numa_node", "render_node"), address)
    folder = f"/sys/bus/pci/devices/{address}"
    node = machine.line(f"{folder}/numa_node")
    render = next((name for name in machine.names(f"{folder}/drm") if name.startswith("renderD")), None)
    unread = {"unknown": f"{folder} cannot be read"}
    return {
        "numa_node": unread if node is None else int(node) if node.isdigit() else None,
        "render_node": f"/dev/dri/{render}" if render else None if machine.exists(folder) else unread,
    }


def _process(machine: Machine, reported: dict[str, Any]) -> dict[str, Any]:
    """A process with what /proc says of it; in another PID namespace it has no entry there."""
    status = machine.line(f"/proc/{reported.get('pid')}/status")
    fields = dict(line.split(":\t", 1) for line in (status or "").splitlines() if ":\t" in line)
    unread = None if status is None else {"unknown": "its /proc entry is incomplete"}
    user = fields.get("Uid", "").split("\t")[0]
    memory = reported.get("memory")
    return {
        "pid": reported.get("pid"),
        "memory": {"unknown": "NVML does not report the memory of this process"} if memory is None else memory,
        "name": fields.get("Name", unread),
        "state": fields["State"][:1] if fields.get("State") else unread,
        "user": int(user) if user.isdigit() else unread,
    }
