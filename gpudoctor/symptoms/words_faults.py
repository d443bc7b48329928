"""What lines of the kernel log and of failed kernels tell."""

import re
from collections.abc import Sequence

from gpudoctor.facts import Facts
from gpudoctor.knowledge import errors, kernel_log
from gpudoctor.symptoms.words import NOTHING, Told

FAULT = {
    "application": "the program on the GPU is at fault, or only it is lost",
    "driver": "the driver is at fault, or its firmware",
    "hardware": "the card, its link or its power is at fault",
    "informational": "it is for information only",
}


def xid(lines: Sequence[str], facts: Facts | None) -> Told:
    """What the number of an Xid means, and whether the GPU is one of this machine's."""
    found = re.search(r"Xid \(([^)]*)\): (\d+)", lines[0])
    error = errors.xid(int(found[2])) if found else None
    if found is None or error is None:
        return NOTHING
    says = [f"Xid {error.code}: {error.meaning}; {FAULT[error.fault]}."]
    address = kernel_log.pci_address(found[1].removeprefix("PCI:"))
    gpus = facts.gpus if facts and isinstance(facts.gpus, tuple) else ()
    there = [g.address for g in gpus if isinstance(g.address, str)]
    if there and not any(one.rpartition(".")[0] == address.rpartition(".")[0] for one in there):
        says.append(f"No GPU of this machine lies at {address}: the line is of another one, or that GPU is gone.")
    return Told(says=tuple(says), tries=(f"{error.action}.",))


def sxid(lines: Sequence[str], facts: Facts | None) -> Told:  # noqa: ARG001 - all readers are called alike
    """What the number of an error of NVSwitch means."""
    found = re.search(r"SXid \([^)]*\): (\d+)", lines[0], re.I)
    error = errors.sxid(int(found[1])) if found else None
    if error is None:
        return NOTHING
    return Told(says=(f"SXid {error.code}: {error.name} ({error.severity.replace('_', ' ')}).",))


def assertion(lines: Sequence[str], facts: Facts | None) -> Told:  # noqa: ARG001
    """What the kernel held to be true."""
    found = next((m for line in lines if (m := re.search(r"Assertion [`'](.{1,200}?)[`'] failed", line))), None)
    return Told(says=(f"The kernel's check was: {found[1]}.",)) if found else NOTHING
