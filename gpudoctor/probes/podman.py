"""Podman: its release, and where its configuration has it look for CDI specifications."""

import re

from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown

# containers.conf(5): what is read later goes first; a file of the user's own goes before the system's.
_CONF = ("/usr/share/containers", "/etc/containers")
_SPEC_DIRS = pattern(r"^[ \t]*cdi_spec_dirs\s*=\s*\[([^\]]*)\]", re.MULTILINE)


def release(machine: Machine, path: str) -> Maybe[str]:
    """The release that the program at this path reports."""
    ended = machine.run([path, "--version"])
    found = re.search(r"\bversion (\d+(?:\.\d+)+)", ended.out)
    return found[1] if found else Unknown(f"podman --version: {ended.err.strip() or ended.missing or 'no version'}")


def config_home(machine: Machine) -> str:
    """The directory of the user's settings, by the XDG Base Directory Specification."""
    return machine.env.get("XDG_CONFIG_HOME") or f"{machine.env.get('HOME', '/root')}/.config"


def directories(machine: Machine) -> Maybe[tuple[str, ...] | None]:
    """cdi_spec_dirs, as the last file that sets it has it; None: no file does."""
    found: tuple[str, ...] | None = None
    for folder in (*_CONF, f"{config_home(machine)}/containers"):
        more = (f"{folder}/containers.conf.d/{name}" for name in sorted(machine.names(f"{folder}/containers.conf.d")))
        for path in (f"{folder}/containers.conf", *(name for name in more if name.endswith(".conf"))):
            try:
                text = machine.text(path, 1 << 20)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                return Unknown(f"{path}: {error.strerror}")
            for listed in _SPEC_DIRS.findall(text):
                own = tuple(re.findall(r"""["']([^"']+)["']""", listed))
                found = (*(found or ()), *own) if "append" in listed else own
    return found
