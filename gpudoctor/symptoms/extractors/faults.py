"""What lines of the kernel log and of failed kernels tell."""

import re
from collections.abc import Sequence

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.knowledge import errors, kernel_log
from gpudoctor.symptoms.extractors import NOTHING, Extracted
from gpudoctor.tasks import Tasks, as_root, filtered, query
from gpudoctor.tasks.placeholders import SCRIPT

GRAVEST = ("hardware", "driver", "application", "informational")
FAULT = {
    "application": "the program on the GPU is at fault, or only that program is lost",
    "driver": "the driver or its firmware is at fault",
    "hardware": "the card, its PCIe link or its power supply is at fault",
    "informational": "informational only",
}
_LOOK = filtered(query("dmesg", root=True), query("grep", "-iE", "xid|nvrm"))
_RESET: Tasks = (query("nvidia-smi", "-q", "-d", "ECC,ROW_REMAPPER"), as_root("nvidia-smi", "--gpu-reset", "-i", 0))
# By NVIDIA's action in the catalogue of Xids.
_ACTIONS: dict[str, Tasks] = {
    "RESET_GPU": _RESET,
    "WORKFLOW_XID_48": _RESET,
    "RESTART_BM": (as_root("reboot"),),
    "RESTART_VM": (as_root("reboot"),),
    "CHECK_MECHANICALS": (as_root("poweroff"),),
    "CONTACT_SUPPORT": (as_root("reboot"), as_root("nvidia-bug-report.sh")),
    "RESTART_APP": (_LOOK, query("compute-sanitizer", "python", SCRIPT)),
    "WORKFLOW_NVLINK_ERR": (query("nvidia-smi", "nvlink", "-e"), as_root("nvidia-smi", "--gpu-reset")),
    "WORKFLOW_NVLINK5_ERR": (query("nvidia-smi", "nvlink", "-e"), as_root("nvidia-smi", "--gpu-reset")),
}
# What NVIDIA names no action for, by who is at fault.
_BY_FAULT: dict[str, Tasks] = {"hardware": (_LOOK, as_root("reboot")), "driver": (_LOOK, as_root("reboot"))}


def xid(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """What the numbers of Xids mean, the gravest first, and whether the GPU is one of this machine's."""
    found = [m for line in lines if (m := re.search(r"Xid (?:\(([^)]*)\): )?(\d+)(?:[,\s]|$)", line))]
    known = [(error, m[1]) for m in found if (error := errors.xid(int(m[2])))]
    if not known:
        return NOTHING
    error, where = min(known, key=lambda pair: GRAVEST.index(pair[0].fault))
    details = [f"Xid {error.code}: {error.meaning}; {FAULT[error.fault]}."]
    others = sorted({one.code for one, _ in known if one.code != error.code})
    if others:
        details.append(f"Also logged: Xid {', '.join(map(str, others))}.")
    address = kernel_log.pci_address(where.removeprefix("PCI:")) if where else ""
    gpus = facts.gpus if facts and isinstance(facts.gpus, tuple) else ()
    there = [g.address for g in gpus if isinstance(g.address, str)]
    if address and there and not any(one.rpartition(".")[0] == address.rpartition(".")[0] for one in there):
        details.append(
            f"No GPU of this machine is at {address}: the line is from another machine, or that GPU is gone."
        )
    tasks = _ACTIONS.get(error.nvidia_action or "") or _BY_FAULT.get(error.fault, (_LOOK,))
    return Extracted(details=tuple(details), fixes=(Fix(f"{error.action}.", tasks, place="outside"),))


def sxid(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001 - all readers are called alike
    """What the number of an error of NVSwitch means."""
    found = re.search(r"SXid (?:\([^)]*\): )?(\d+)(?:[,\s]|$)", lines[0], re.I)
    error = errors.sxid(int(found[1])) if found else None
    if error is None:
        return NOTHING
    return Extracted(details=(f"SXid {error.code}: {error.name} ({error.severity.replace('_', ' ')}).",))


def assertion(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """What the kernel compared with be true."""
    found = next((m for line in lines if (m := re.search(r"Assertion [`'](.{1,200}?)[`'] failed", line))), None)
    return Extracted(details=(f"The failed assertion: {found[1]}.",)) if found else NOTHING


# Drivers of GPUs, and the kernel's modules that only they use.
_DRIVERS = ("nvidia", "amdgpu", "amdkfd", "amdkcl", "amdttm", "xe", "i915", "nouveau", "nova_core", "gpu_sched", "ttm")


def oops(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """In which module the kernel crashed."""
    place = r"(?:RIP: 0010:|\bpc : )(\S+\+0x\S+)(?: \[([\w-]+)\])?"
    found = next((m for line in lines if (m := re.search(place, line))), None)
    if found is None:
        return NOTHING
    where = f"the module {found[2]}" if found[2] else "the kernel itself"
    if not (found[2] or "").startswith(_DRIVERS):
        return Extracted(details=(f"It crashed in {found[1]} of {where}, which is no GPU's driver.",))
    meaning = f"a GPU's driver crashed inside the kernel: {found[2]}"
    return Extracted(details=(f"It crashed in {found[1]} of {where}.",), meaning=meaning)
