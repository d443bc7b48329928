"""Queries about what was changed and when: which record explains what is broken, and how it reads as a line."""

import re

from gpudoctor.facts import Facts, Python
from gpudoctor.facts.history import FrameworkChange, RecordedChange
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known_or, phrase, text_of

# Who upgrades without being asked, by what is in the recorded command line.
_AUTOMATIC = {
    "unattended-upgrade": "unattended-upgrades",
    "packagekit": "PackageKit",
    "aptdaemon": "aptdaemon",
    "dnf-automatic": "dnf-automatic",
    "dnf automatic": "dnf automatic",
    "dnf5 automatic": "dnf automatic",
    "transactional-update": "transactional-update",
}
# Of packages of one version, those by which people know the driver.
_KNOWN_AS = (
    "nvidia-driver-",
    "nvidia-driver",
    "nvidia-open",
    "nvidia-utils",
    "akmod-nvidia",
    "nvidia-video",
    "nvidia-",
)
_PAST = {
    "install": "installed",
    "upgrade": "upgraded",
    "downgrade": "downgraded",
    "reinstall": "reinstalled",
    "remove": "removed",
}
# The kernel's own package; its version is in the name on Debian and Ubuntu.
_KERNEL = pattern(r"(?:linux-image-(?:unsigned-)?(\d.*)|kernel(?:-core|-default|)|linux(?:\d+|-lts|-zen|-hardened)?)")


def driver_change(facts: Facts, version: str | None) -> RecordedChange | None:
    """Return the last change that brought packages of the driver to a version; None where none is recorded.

    Args:
        facts: the machine.
        version: of the driver's libraries.
    """
    found = [c for c in _packages(facts) if version and c.new and release(c.new) == version and c.action != "reinstall"]
    last = [c for c in found if c.time == found[-1].time]

    def rank(change: RecordedChange) -> int:
        return next((i for i, start in enumerate(_KNOWN_AS) if change.name.startswith(start)), len(_KNOWN_AS))

    return min(last, key=rank, default=None)


def kernel_change(facts: Facts) -> RecordedChange | None:
    """Return the change that brought the running kernel, where a module for another kernel shows that it is newer.

    Where the running kernel's modules are gone, it is the change that replaced or removed it.
    """
    kernel = facts.nvidia.kernel
    running = text_of(facts.host.kernel.release)
    entries = known_or(kernel.dkms, None) or ()
    others = known_or(kernel.other_kernels, ()) or any(e.kernel not in (None, running) for e in entries)
    if not running or not others:
        return None
    gone = facts.host.kernel.modules is False
    named = ((c, c.old if gone else c.new) for c in reversed(_packages(facts)))
    return next((c for c, version in named if version and _is_kernel(c.name, version, running)), None)


def _is_kernel(name: str, version: str, running: str) -> bool:
    found = _KERNEL.fullmatch(name)
    if found is None:
        return False
    if found[1]:
        return found[1] == running
    there, new = (re.sub(r"[^0-9a-z]+", ".", text) for text in (running, version))
    # openSUSE counts builds behind the release of the kernel: 6.4.0-150600.23.25.1 is 6.4.0-150600.23.25-default.
    return f"{there}.".startswith((f"{new}.", f"{new.rpartition('.')[0]}." if name == "kernel-default" else f"{new}."))


def _packages(facts: Facts) -> tuple[RecordedChange, ...]:
    return known_or(facts.history.packages, ())


def release(version: str) -> str:
    """Return a package's version without epoch and the distribution's own number: "550.107.02"."""
    return re.split(r"[-_+~]", version.rpartition(":")[2], maxsplit=1)[0]


def automatic(change: RecordedChange) -> str | None:
    """Return what upgrades on its own and did this; None where a person did, or nobody is recorded."""
    return next((name for part, name in _AUTOMATIC.items() if part in (change.command or "").lower()), None)


def line(facts: Facts, change: RecordedChange) -> str:
    """Return a change as one line: who, what, from which version to which, when, and since when this boot runs."""
    who = automatic(change) or (f"`{change.command}`" if change.command else None)
    by = f" (asked for by {change.user})" if change.user and not automatic(change) else ""
    old, new = (release(text) if text else None for text in (change.old, change.new))
    versions = phrase(" from {}", old) + phrase(" to {}", new)
    if change.action in ("install", "remove"):  # a kernel's release is in its name already
        versions = "" if (new or old or "") in change.name else phrase(" {}", new or old)
    past = _PAST[change.action]
    what = f"{who}{by} {past} {change.name}" if who else f"{change.name} was {past}"
    boot = facts.history.boot
    older = isinstance(boot, str) and boot < change.time and change.action != "install"
    since = f"; this boot is {'older, ' if older else ''}from {boot[:16]}" if isinstance(boot, str) else ""
    failed = f"; it ended with: {change.error}" if change.error else ""
    return f"{change.source}: {what}{versions} on {change.time[:16]}{failed}{since}"


def driver_lines(facts: Facts, version: str | None) -> tuple[str, ...]:
    """Return the line of what brought the driver's version, for the evidence; empty where nothing is recorded."""
    change = driver_change(facts, version)
    return (line(facts, change),) if change else ()


def kernel_lines(facts: Facts) -> tuple[str, ...]:
    """Return the line of what brought the running kernel, likewise."""
    change = kernel_change(facts)
    return (line(facts, change),) if change else ()


def framework_change(facts: Facts, python: Python, name: str) -> FrameworkChange | None:
    """Return what is recorded of a framework without GPU support in an environment; None: nothing."""
    names = {name, {"torch": "pytorch"}.get(name, name)}
    return next((c for c in facts.history.builds if c.python == python.path and c.name in names), None)


def framework_line(change: FrameworkChange) -> str:
    """Return it as a line: when it came, from which build, and what brought it."""
    by = f" by {change.installer}" if change.installer else ""
    old = f" in place of {change.old}" if change.old else ""
    command = f": `{change.command}`" if change.command else ""
    wanted = ", ".join(change.wanted_by[:3])
    required = f" as a requirement of {wanted}" if wanted else " as a requirement" if change.asked_for is False else ""
    return f"{change.name} {change.version} was installed{by}{required}{old} on {change.time[:16]}{command}"
