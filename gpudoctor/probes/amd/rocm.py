"""Which release of ROCm is installed, and where."""

import re

from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown

# "6.3.4-104": release and build; 7.x writes the same.
_RELEASE = pattern(r"\d+\.\d+(?:\.\d+)?")
_FILES = (".info/version", ".info/version-rocm", ".info/version-dev")


def release(machine: Machine) -> tuple[Maybe[str | None], Maybe[str | None]]:
    """Return release and folder of ROCm; None where there is none. Runtimes inside wheels do not count.

    ROCM_PATH comes first, then /opt/rocm, which is a link to the release chosen, then the other releases.
    """
    for folder in folders(machine):
        if found := _release_written(machine, folder):
            return found, folder
    return _without_file(machine)


def releases(machine: Machine) -> tuple[tuple[str, str], ...]:
    """Return folder and release of every ROCm, links resolved, the chosen first; "" where nothing names a release."""
    found: dict[str, str] = {}
    for folder in folders(machine):
        if any(machine.exists(f"{folder}/{part}") for part in ("bin", "lib", ".info")):
            found.setdefault(machine.real(folder), _release_in(machine, folder) or "")
    chosen, path = release(machine)
    if isinstance(path, str) and not found:  # a distribution's own
        found[path] = chosen if isinstance(chosen, str) else ""
    return tuple(found.items())


def _release_in(machine: Machine, folder: str) -> str | None:
    named = _RELEASE.search(machine.real(folder).rpartition("/")[2])
    return _release_written(machine, folder) or (named[0] if named else None)


def _release_written(machine: Machine, folder: str) -> str | None:
    texts = (machine.line(f"{folder}/{name}") or "" for name in _FILES)
    return next((found[0] for text in texts if (found := _RELEASE.match(text))), None)


def folders(machine: Machine) -> list[str]:
    """The directories in which AMD's packages install ROCm, the chosen one first; not all of them exist."""
    chosen = machine.env.get("ROCM_PATH", "")
    found = [chosen.rstrip("/")] if chosen.startswith("/") else []
    found.append("/opt/rocm")
    # Since 7.x packages may lie in /opt/rocm/core-7.x, with /opt/rocm/core as the link.
    found += [f"/opt/rocm/{name}" for name in _newest(machine.names("/opt/rocm"), "core")]
    found += [f"/opt/{name}" for name in _newest(machine.names("/opt"), "rocm-")]
    return found


def _newest(names: list[str], prefix: str) -> list[str]:
    wanted = [name for name in names if name.startswith(prefix)]
    return sorted(wanted, key=lambda name: [int(number) for number in re.findall(r"\d+", name)], reverse=True)


def _without_file(machine: Machine) -> tuple[Maybe[str | None], Maybe[str | None]]:
    for folder in folders(machine):
        if machine.exists(f"{folder}/bin") or machine.exists(f"{folder}/lib"):
            named = _RELEASE.search(folder)
            return named[0] if named else Unknown(f"{folder}/.info/version is missing"), folder
    # Distributions' own packages (Fedora, Debian, Arch's go to /opt) lie under /usr and carry no such file.
    for name in ("rocminfo", "hipconfig"):
        if machine.exists(f"/usr/bin/{name}"):
            return Unknown(f"/usr/bin/{name} belongs to the distribution, which installs no version file"), "/usr"
    return None, None
