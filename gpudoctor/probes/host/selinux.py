"""Whether SELinux is there and enforces."""

import re

from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown

CONFIG = "/etc/selinux/config"


def selinux(machine: Machine) -> Maybe[str | None]:
    """Return enforcing, permissive or disabled; None where this kernel has no SELinux.

    Container engines hide /sys/fs/selinux, and getenforce then says "Disabled" whatever the host does: the label
    of this process shows that SELinux is there after all.
    """
    state = machine.line("/sys/fs/selinux/enforce")
    if state in ("0", "1"):
        return "enforcing" if state == "1" else "permissive"
    text = machine.line(CONFIG)
    configured = re.search(r"^\s*SELINUX=(\w+)", text, re.M) if text else None
    label = (machine.line("/proc/self/attr/current") or "").strip("\0")
    labelled = label.count(":") >= 3  # user:role:type:level; AppArmor's have no colons
    if not configured and not labelled:
        return None
    said = _getenforce(machine)
    if said in ("enforcing", "permissive") or (said and not labelled):
        return said
    if configured and not labelled:
        return configured[1].lower()
    return Unknown(f"/sys/fs/selinux is hidden, and this process has the label {label}: run getenforce on the host")


def _getenforce(machine: Machine) -> str | None:
    if machine.which("getenforce", ("/usr/sbin", "/sbin")) is None:
        return None
    ended = machine.run(["getenforce"])
    word = ended.out.strip().lower()
    return word if ended.ok and word in ("enforcing", "permissive", "disabled") else None
