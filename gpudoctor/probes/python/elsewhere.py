"""Other interpreters of this user that have a framework, where the examined one has none."""

import os
from collections.abc import Iterator
from threading import Thread

from gpudoctor.facts.python import Elsewhere, Python
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, known_or
from gpudoctor.probes.frameworks.discovery import NAMES
from gpudoctor.probes.python import discovery

# The user's folders may lie on a file system that does not answer; in a quarter of a second even NFS does.
SECONDS = 3.0
_MOST = 8


def probe(machine: Machine, python: Python) -> tuple[Maybe[tuple[Elsewhere, ...]], Maybe[str | None]]:
    """Those interpreters, and the one of `pip` on PATH where that is another (None: the examined one's, or none).

    Folders are listed in a thread that is left behind where it does not come back.
    """
    why = Unknown(f"the directories of other environments did not respond within {SECONDS:.0f} s")
    found: list[tuple[tuple[Elsewhere, ...], str | None]] = []
    thread = Thread(target=lambda: found.append((_others(machine, python), _pip(machine, python))), daemon=True)
    thread.start()
    thread.join(machine.left(SECONDS))
    return found[0] if found else (why, why)


def _others(machine: Machine, python: Python) -> tuple[Elsewhere, ...]:
    own = known_or(python.prefix, "")
    offers = (
        Elsewhere(path=one.path, frameworks=names)
        for one in discovery.probe(machine)
        if _prefix(machine, one.path) != machine.real(own)
        if (names := _frameworks(machine, _sites(machine, one)))
    )
    users = (e for e in _user_sites(machine) if e.path.rpartition("/")[2] != f"python{_minor(python)}")
    return tuple(offer for offer, _ in zip([*offers, *users], range(_MOST), strict=False))


def frameworks_in(machine: Machine, prefix: str) -> tuple[str, ...]:
    """The import names of the frameworks in an environment, by its folders: nothing of it is run."""
    return _frameworks(machine, _sites(machine, discovery.FoundInterpreter(f"{prefix}/bin/python", "venv")))


def _prefix(machine: Machine, path: str) -> str:
    """The folder that an interpreter stands in: PREFIX/bin/python; links of the file itself are not followed."""
    return os.path.dirname(machine.real(os.path.dirname(path)))


def _sites(machine: Machine, one: discovery.FoundInterpreter) -> Iterator[str]:
    """Where the environment keeps its packages."""
    prefix = os.path.dirname(os.path.dirname(one.path))
    name = one.path.rpartition("/")[2]
    for folder in machine.names(f"{prefix}/lib"):
        if folder.startswith("python3.") and (one.kind != "system" or name in (folder, "python3")):
            yield f"{prefix}/lib/{folder}/site-packages"
            yield f"{prefix}/lib/{folder}/dist-packages"
    if one.kind == "system":
        own = machine.real(one.path).rpartition("/")[2]
        if own.startswith("python3."):  # Debian's pip installs there for the Python in /usr/bin
            yield f"/usr/local/lib/{own}/dist-packages"
        yield f"{prefix}/lib/python3/dist-packages"


def _user_sites(machine: Machine) -> Iterator[Elsewhere]:
    """What `pip install --user` put there for other releases of Python."""
    home = machine.env.get("HOME", "").rstrip("/")
    for folder in machine.names(f"{home}/.local/lib") if home.startswith("/") else ():
        names = _frameworks(machine, iter([f"{home}/.local/lib/{folder}/site-packages"]))
        path = machine.which(folder) if folder.startswith("python3.") else None
        if names and path:
            yield Elsewhere(path=path, frameworks=names)


def _frameworks(machine: Machine, sites: Iterator[str]) -> tuple[str, ...]:
    folders = list(sites)
    return tuple(name for name in NAMES if any(machine.exists(f"{site}/{name}/__init__.py") for site in folders))


def _minor(python: Python) -> str:
    return ".".join(known_or(python.version, "").split(".")[:2])


def _pip(machine: Machine, python: Python) -> str | None:
    """The interpreter of `pip` on PATH, where its environment is another one."""
    path = machine.which("pip")
    return _of_script(machine, path, known_or(python.prefix, "")) if path else None


def own_pip(machine: Machine, prefix: str) -> str | None:
    """The interpreter of an environment's own pip, where it is another one's: the folder was copied or moved."""
    return _of_script(machine, f"{prefix}/bin/pip", prefix)


def _of_script(machine: Machine, path: str, prefix: str) -> str | None:
    """The interpreter that a script names, where its environment is not the given one.

    A path too long for the kernel, or with a space in it, stands in the second line, behind #!/bin/sh.
    """
    first, _, rest = (machine.line(path) or "").partition("\n")
    line = rest.partition("\n")[0].partition("exec'")[2] if first == "#!/bin/sh" else first.removeprefix("#!")
    words = line.strip().split('"' if line.strip().startswith('"') else " ")
    interpreter = next((word for word in words if word), "")
    if not interpreter.startswith("/") or "python" not in interpreter.rpartition("/")[2]:
        return None  # pyenv's shims are shell scripts
    return None if _prefix(machine, interpreter) == machine.real(prefix) else interpreter
