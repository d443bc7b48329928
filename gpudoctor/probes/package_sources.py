"""The package repositories that the package manager's files name (sources.list(5), dnf.conf(5))."""

from collections.abc import Iterator

from gpudoctor.machine import Machine
from gpudoctor.parsers import apt_preferences, repositories
from gpudoctor.parsers.repositories import ListedRepository

APT, RPM = "/etc/apt", ("/etc/yum.repos.d", "/etc/zypp/repos.d")
# A package manager's file has some lines; more than that is no configuration.
_LIMIT = 1 << 18


def listed(machine: Machine) -> Iterator[tuple[str, ListedRepository]]:
    """Each repository that is enabled, with the file that names it; a file that cannot be read names none."""
    folder = f"{APT}/sources.list.d"
    for path in (f"{APT}/sources.list", *(f"{folder}/{name}" for name in machine.names(folder))):
        if path.endswith((".list", ".sources")):
            for one in repositories.apt(path, _text(machine, path)):
                yield path, one
    for folder in RPM:
        for path in (f"{folder}/{name}" for name in machine.names(folder) if name.endswith(".repo")):
            for one in repositories.rpm(_text(machine, path)):
                yield path, one


def negative_pins(machine: Machine) -> Iterator[tuple[str, tuple[str, ...], str, bool]]:
    """Each pin of apt's below 0 with its file, as `apt_preferences.negative` has it.

    apt reads files of the folder without an extension or with .pref (apt_preferences(5)).
    """
    folder = f"{APT}/preferences.d"
    for path in (f"{APT}/preferences", *(f"{folder}/{name}" for name in machine.names(folder))):
        extension = path.rpartition("/")[2].partition(".")[2]
        if extension in ("", "pref"):
            for packages, source, alone in apt_preferences.negative(_text(machine, path)):
                yield path, packages, source, alone


def _text(machine: Machine, path: str) -> str:
    try:
        return machine.text(path, _LIMIT)
    except OSError:
        return ""
