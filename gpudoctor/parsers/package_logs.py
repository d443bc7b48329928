"""Reads what package managers record of their transactions: apt, dpkg, dnf's rpm log, pacman, zypper.

Formats: apt's own writer (apt, apt-pkg/deb/dpkgpm.cc, OpenLog and WriteHistoryTag), dpkg(1) "--log", pacman's logger
(pacman, lib/libalpm/log.c: times since 5.2 with zone), libzypp (zypp/HistoryLog.h), dnf's dnf.rpm.log
(dnf, dnf/yum/rpmtrans.py). All but dnf's write the local time of the machine.
"""

import re
from collections.abc import Callable, Iterator

import msgspec

from gpudoctor.facts.history import ChangeAction, RecordedChange

# Packages whose change can break a GPU: driver, CUDA, kernel, ROCm, Intel's runtimes, container engines, compilers.
RELEVANT = re.compile(
    r"nvidia|^libcuda|^libnv|^cuda|^linux-(?:image|headers|modules|generic|objects|signatures)|^kernel(?:$|-)"
    r"|^linux(?:\d+|-lts|-zen|-hardened|-cachyos)?(?:-headers)?$|rocm|amdgpu|^hip|^hsa-|^mesa-|^libze|level-zero"
    r"|^intel-(?:opencl|compute|level)|^(?:docker|containerd|podman|moby-|nerdctl|crun$|runc$)|^gcc(?:$|-\d)|dkms|akmod"
)
_LONGEST = 300  # characters of a command line that are kept
_APT: dict[str, ChangeAction] = {
    "Install": "install",
    "Reinstall": "reinstall",
    "Upgrade": "upgrade",
    "Downgrade": "downgrade",
    "Remove": "remove",
    "Purge": "remove",
}
_APT_ITEM = re.compile(r"([^\s:,()]+)(?::[\w-]+)? \(([^()]*)\)")
_DPKG = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (install|upgrade|remove|purge) ([^\s:]+)(?::\S+)? (\S+) (\S+)")
_PACMAN = re.compile(r"\[(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)[^\]]*\] \[(\w+)\] (.*)")
_ALPM = re.compile(r"(installed|upgraded|downgraded|reinstalled|removed) (\S+) \(([^()]*)\)")
_RPM = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)\S* SUBDEBUG (\w+): (\S+)")
_NEVRA = re.compile(r"(.+)-(?:\d+:)?([^-]+-[^-]+)\.\w+")
_PAST: dict[str, ChangeAction] = {
    "installed": "install",
    "upgraded": "upgrade",
    "downgraded": "downgrade",
    "reinstalled": "reinstall",
    "removed": "remove",
}
Reader = Callable[[str, str], list[RecordedChange]]


def apt_history(text: str, source: str = "") -> list[RecordedChange]:
    """Return the changes in /var/log/apt/history.log.

    Args:
        text: the file's content.
        source: its path.
    """
    return [change for block in text.split("\n\n") for change in _transaction(block, source)]


def _transaction(block: str, source: str) -> Iterator[RecordedChange]:
    tags = dict(line.split(": ", 1) for line in block.strip().splitlines() if ": " in line)
    time = " ".join(tags.get("Start-Date", "").split())
    if not re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", time):
        return
    common = {
        "time": time,
        "command": tags.get("Commandline", "")[:_LONGEST] or None,
        "user": tags.get("Requested-By", "").partition(" (")[0] or None,
        "error": tags.get("Error", "")[:_LONGEST] or None,
        "source": source,
    }
    for tag, action in _APT.items():
        for name, versions in _APT_ITEM.findall(tags.get(tag, "")):
            if RELEVANT.search(name):
                yield _change(common, action, name, versions.split(", "))


def _change(common: dict[str, str | None], action: ChangeAction, name: str, versions: list[str]) -> RecordedChange:
    """Of an upgrade both versions are recorded; "automatic" next to one means that nobody named the package."""
    first, last = versions[0], versions[-1]
    old, new = {
        "upgrade": (first, last),
        "downgrade": (first, last),
        "remove": (first, None),
    }.get(action, (None, first))
    return msgspec.convert({**common, "action": action, "name": name, "old": old, "new": new}, RecordedChange)


def dpkg_log(text: str, source: str = "") -> list[RecordedChange]:
    """Return the changes in /var/log/dpkg.log, in which nobody is named."""
    found = []
    for time, action, name, old, new in _DPKG.findall(text):
        if RELEVANT.search(name):
            # `dpkg -i` of what is installed is an "upgrade" to the same version.
            kind = {"purge": "remove"}.get(action, "reinstall" if action == "upgrade" and old == new else action)
            values = {"time": time, "name": name, "old": _no_none(old), "new": _no_none(new), "source": source}
            found.append(msgspec.convert(values | {"action": kind}, RecordedChange))
    return found


def _no_none(version: str) -> str | None:
    return None if version == "<none>" else version


def pacman_log(text: str, source: str = "") -> list[RecordedChange]:
    """Return the changes in /var/log/pacman.log, each with the command that ran last before it."""
    command, found = None, []
    for day, clock, who, what in _PACMAN.findall(text):
        if who == "PACMAN" and what.startswith("Running "):
            command = what[len("Running ") :].strip("'\"")[:_LONGEST]
        elif who == "ALPM" and (change := _ALPM.match(what)) and RELEVANT.search(change[2]):
            time = f"{day} {clock}" + ":00" * (clock.count(":") == 1)
            common = {"time": time, "command": command, "source": source}
            found.append(_change(common, _PAST[change[1]], change[2], change[3].split(" -> ")))
    return found


def zypp_history(text: str, source: str = "") -> list[RecordedChange]:
    """Return the changes in /var/log/zypp/history; what a version replaced is the one installed before it."""
    command, found = None, []
    there: dict[str, str] = {}
    for line in text.splitlines():
        fields = [field.strip() for field in line.split("|")]
        if line.startswith("#") or len(fields) < 4:
            continue
        time, kind, name, version = fields[:4]
        if kind == "command":
            command = version.replace("'", "")[:_LONGEST]
        elif kind in ("install", "remove") and RELEVANT.search(name):
            old = there.pop(name, None) if kind == "install" else version
            new = version if kind == "install" else None
            if new:
                there[name] = new
            action = "reinstall" if old == new else "upgrade" if old and new else kind
            values = {"time": time, "name": name, "old": old, "new": new, "command": command, "source": source}
            found.append(msgspec.convert(values | {"action": action}, RecordedChange))
    return found


def rpm_log(text: str, source: str = "") -> list[RecordedChange]:
    """Return the changes in dnf's dnf.rpm.log: of an upgrade it has a line for the new version, and one for the old."""
    found: list[RecordedChange] = []
    olds: dict[str, str] = {}
    for day, clock, what, nevra in reversed(_RPM.findall(text)):
        named = _NEVRA.fullmatch(nevra)
        if named is None or not RELEVANT.search(named[1]):
            continue
        name, version = named[1], named[2]
        if what in ("Upgraded", "Downgraded"):
            olds[name] = version
        elif what in ("Installed", "Upgrade", "Downgrade", "Reinstall", "Removed", "Erase"):
            action = {"Installed": "install", "Removed": "remove", "Erase": "remove"}.get(what, what.lower())
            gone = action == "remove"
            old = version if gone else olds.pop(name, None)
            values = {"time": f"{day} {clock}", "name": name, "old": old, "new": None if gone else version}
            found.append(msgspec.convert(values | {"action": action, "source": source}, RecordedChange))
    return found[::-1]
