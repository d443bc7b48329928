"""Which systemd units keep this process from devices: DevicePolicy and DeviceAllow, in the control group's filter."""

import re
from collections.abc import Iterator

from gpudoctor.machine import Machine

# Where units and their drop-in files are: systemd.unit(5). `systemctl set-property` writes into system.control.
_FOLDERS = (
    *("/etc/systemd/system.control", "/run/systemd/system.control", "/run/systemd/transient"),
    *("/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system"),
)
# systemd.resource-control(5): strict and closed deny what DeviceAllow does not name; auto does from its first line on.
_RESTRICTS = re.compile(
    r"^[ \t]*(?:DevicePolicy[ \t]*=[ \t]*(?:strict|closed)|DeviceAllow[ \t]*=[ \t]*\S)", re.MULTILINE
)


def units(machine: Machine) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the systemd units that this process is in, outermost first, and those of them that restrict devices.

    The units of a user's own manager do not count: it may not set the filter.
    """
    for line in (machine.line("/proc/self/cgroup") or "").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" or controllers == "name=systemd":
            parts = path.split("/")
            manager = next((i for i, part in enumerate(parts) if re.fullmatch(r"user@\d+\.service", part)), len(parts))
            ours = tuple(p for p in parts[: manager + 1] if re.fullmatch(r"[\w@.:\\-]+\.(?:slice|service|scope)", p))
            return ours, tuple(unit for unit in ours if any(_texts_restrict(machine, unit)))
    return (), ()


def _texts_restrict(machine: Machine, unit: str) -> Iterator[bool]:
    name, _, kind = unit.rpartition(".")
    names = [unit]
    if "@" in name:
        names.append(f"{name.partition('@')[0]}@.{kind}")
    # user-1000.slice has the drop-in files of user-.slice.d too.
    shared = [f"{name[: found.end()]}.{kind}" for found in re.finditer("-", name)]
    for folder in _FOLDERS:
        for each in names:
            yield bool(_RESTRICTS.search(machine.line(f"{folder}/{each}") or ""))
        for each in (*names, *shared):
            directory = f"{folder}/{each}.d"
            for file in machine.names(directory):
                yield file.endswith(".conf") and bool(_RESTRICTS.search(machine.line(f"{directory}/{file}") or ""))
