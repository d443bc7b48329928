"""Finds the environment of the working directory as uv does, and says whether somebody else could have made it.

The rule: https://docs.astral.sh/uv/pip/environments/#discovery-of-python-environments (the directory itself, or a
.venv in it or in one above it) and https://docs.astral.sh/uv/concepts/projects/config/#project-environment-path. A file
.venv that holds a path: https://peps.python.org/pep-0832/.
"""

import os
from collections.abc import Iterator

import msgspec

from gpudoctor.machine import Machine
from gpudoctor.probes.python.interpreter import is_whole

_ANOTHER = "; --python names another"
FOUND = f"found in this directory{_ANOTHER}"
ABOVE = f"found above this directory{_ANOTHER}"
INSIDE = f"this directory is in it{_ANOTHER}"
POINTED = f"named by the file .venv{_ANOTHER}"
PROJECT = f"UV_PROJECT_ENVIRONMENT{_ANOTHER}"


class Here(msgspec.Struct, frozen=True):
    """An environment that nobody activated, and that belongs to the working directory.

    Attributes:
        entry: what was found there: .venv, or the environment itself.
        prefix: the environment.
        why: what chose it, for people.
        stranger: the user who owns a part of it and is neither this one nor root; None: nobody.
    """

    entry: str
    prefix: str
    why: str
    stranger: int | None


def find(machine: Machine) -> Here | None:
    """The environment of the working directory; None where there is none."""
    here = os.path.normpath(machine.env.get("PWD", "").replace("\\", "/"))
    if not is_whole(here):
        return None
    found = next(_offers(machine, here), None)
    return Here(*found, stranger(machine, found[0], found[1])) if found else None


def _offers(machine: Machine, here: str) -> Iterator[tuple[str, str, str]]:
    """Entry, prefix and reason of each, the nearest first."""
    if own := _of_project(machine, here):
        yield own, own, PROJECT
    for folder in _up(here):
        if machine.exists(f"{folder}/pyvenv.cfg"):
            yield folder, folder, INSIDE
        entry = f"{folder.rstrip('/')}/.venv"
        status = machine.status(entry)
        if status and status.is_dir and is_environment(machine, entry):
            yield entry, entry, FOUND if folder == here else ABOVE
        elif status and not status.is_dir and (prefix := _target(machine, entry)):
            yield entry, prefix, POINTED


def _up(folder: str) -> Iterator[str]:
    """A folder and those above it."""
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _of_project(machine: Machine, here: str) -> str | None:
    """What UV_PROJECT_ENVIRONMENT names: a relative path begins where the project's lock file lies."""
    name = machine.env.get("UV_PROJECT_ENVIRONMENT", "").replace("\\", "/").rstrip("/")
    if not name:
        return None
    roots = [""] if is_whole(name) else [_project(machine, here)]
    prefix = next((os.path.normpath(os.path.join(root, name)) for root in roots if root is not None), None)
    return prefix if prefix and is_environment(machine, prefix) else None


def _project(machine: Machine, here: str) -> str | None:
    for file in ("uv.lock", "pyproject.toml"):  # a workspace has one lock, at its root
        for folder in _up(here):
            if machine.exists(f"{folder}/{file}"):
                return folder
    return None


def _target(machine: Machine, file: str) -> str | None:
    """The environment that a file .venv names."""
    first = (machine.line(file) or "").partition("\n")[0].strip()
    prefix = os.path.normpath(os.path.join(os.path.dirname(file), first)) if first else ""
    return prefix if prefix and is_environment(machine, prefix) else None


def is_environment(machine: Machine, prefix: str) -> bool:
    """Whether a folder is an environment; an empty .venv, where a container mounts its own, is none."""
    return machine.exists(f"{prefix}/pyvenv.cfg") or python_of(machine, prefix) is not None


def python_of(machine: Machine, prefix: str) -> str | None:
    """The Python of an environment, be it a link into nowhere: then that is what is wrong with it."""
    inside = ("Scripts/python.exe", "python.exe") if machine.system == "Windows" else ("bin/python", "bin/python3")
    paths = (f"{prefix.rstrip('/')}/{name}" for name in inside)
    return next((path for path in paths if machine.exists(path) or machine.link(path)), None)


def stranger(machine: Machine, entry: str, prefix: str) -> int | None:
    """The other user who owns what decides which code runs: the way there, its settings, its Python, its packages."""
    uid = machine.ids()[0]
    if uid < 0:  # Windows, where owners have no numbers
        return None
    real = machine.real(prefix)
    parts = (f"{real}/{name}" for name in ("pyvenv.cfg", "bin", "lib"))
    python = python_of(machine, real)
    owners = (machine.owner(path) for path in (entry, real, *parts, *((python,) if python else ())))
    return next((owner for owner in owners if owner not in (None, 0, uid)), None)
