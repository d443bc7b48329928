"""Other interpreters of this user that have a framework, where the examined one has none."""

import os
import re
from collections.abc import Iterator
from threading import Thread
from typing import NamedTuple

from gpudoctor.facts.python import Elsewhere, Python
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, known_or
from gpudoctor.probes.frameworks.discovery import NAMES

# The user's folders may lie on a file system that does not answer; in a quarter of a second even NFS does.
SECONDS = 3.0
_MOST = 8
_SYSTEM = ("/usr", "/usr/local")  # where several releases share a folder


class Neighbors(NamedTuple):
    """What is around an interpreter without a framework.

    Attributes:
        elsewhere: the others that have one; that of `pip` on PATH first.
        pip: the interpreter of `pip` on PATH; None: the examined one's, or there is no pip.
        first_on_path: whether `python` on PATH starts the examined one.
    """

    elsewhere: Maybe[tuple[Elsewhere, ...]]
    pip: Maybe[str | None]
    first_on_path: Maybe[bool]


def probe(machine: Machine, python: Python) -> Neighbors:
    """Look around; folders are listed in a thread that is left behind where it does not come back."""
    why = Unknown(f"the directories of other environments did not respond within {SECONDS:.0f} s")
    found: list[Neighbors] = []
    thread = Thread(target=lambda: found.append(_looked(machine, python)), daemon=True)
    thread.start()
    thread.join(machine.left(SECONDS))
    return found[0] if found else Neighbors(why, why, why)


def _looked(machine: Machine, python: Python) -> Neighbors:
    pip = pip_on_path(machine, python)
    return Neighbors(_others(machine, python, pip), pip, _first_on_path(machine, python))


def _others(machine: Machine, python: Python, pip: Maybe[str | None]) -> tuple[Elsewhere, ...]:
    from gpudoctor.probes.python import discovery

    own = known_or(python.prefix, "")
    beside = _of_pip(machine, pip) if isinstance(pip, str) else None
    known = {_identity(machine, beside.path)} if beside else set()
    offers = (
        Elsewhere(path=one.path, frameworks=names)
        for one in discovery.probe(machine)
        if _prefix(machine, one.path) != machine.real(own) and _identity(machine, one.path) not in known
        if (names := _frameworks(machine, _sites(machine, one.path, one.kind)))
    )
    users = (
        e
        for e in _user_sites(machine)
        if e.path.rpartition("/")[2] != f"python{_minor(python)}" and _identity(machine, e.path) not in known
    )
    first = [beside] if beside else []
    return tuple(offer for offer, _ in zip([*first, *offers, *users], range(_MOST), strict=False))


def _identity(machine: Machine, path: str) -> str:
    """What two paths to one interpreter have in common: of a virtual environment its folder, else the file itself."""
    prefix = _prefix(machine, path)
    return prefix if _is_venv(machine, prefix) else machine.real(path)


def _is_venv(machine: Machine, prefix: str) -> bool:
    return machine.exists(f"{prefix}/pyvenv.cfg")


def _of_pip(machine: Machine, path: str) -> Elsewhere | None:
    """The interpreter of `pip` on PATH, where it has a framework: by itself, or in its user's site."""
    prefix = _prefix(machine, path)
    kind = "system" if prefix in _SYSTEM else "venv"
    sites = list(_sites(machine, path, kind))
    home = machine.env.get("HOME", "").rstrip("/")
    release = machine.real(path).rpartition("/")[2]
    if home.startswith("/") and release.startswith("python3.") and not _is_venv(machine, prefix):
        sites.append(f"{home}/.local/lib/{release}/site-packages")
    names = _frameworks(machine, iter(sites))
    return Elsewhere(path=path, frameworks=names) if names else None


def _first_on_path(machine: Machine, python: Python) -> bool:
    """Whether `python` starts the examined one, and `python3` too, as far as PATH has them."""
    found = [path for name in ("python", "python3") if (path := machine.which(name))]
    return bool(found) and all(_is_own(machine, path, python) for path in found)


def _is_own(machine: Machine, path: str, python: Python) -> bool:
    """Whether an interpreter is the examined one: by its folder, and in one with several by its release."""
    prefix = _prefix(machine, path)
    if prefix != machine.real(known_or(python.prefix, "")):
        return False
    release, minor = machine.real(path).rpartition("/")[2], _minor(python)
    several = release.startswith("python3.") and not _is_venv(machine, prefix)
    return not (several and minor) or release == f"python{minor}"


def frameworks_in(machine: Machine, prefix: str) -> tuple[str, ...]:
    """The import names of the frameworks in an environment, by its folders: nothing of it is run."""
    return _frameworks(machine, _sites(machine, f"{prefix}/bin/python", "venv"))


def _prefix(machine: Machine, path: str) -> str:
    """The folder that an interpreter stands in: PREFIX/bin/python; links of the file itself are not followed."""
    return os.path.dirname(machine.real(os.path.dirname(path)))


def _sites(machine: Machine, path: str, kind: str) -> Iterator[str]:
    """Where the environment of an interpreter keeps its packages; the kinds are those of `FoundInterpreter`."""
    prefix = os.path.dirname(os.path.dirname(path))
    name = path.rpartition("/")[2]
    for folder in machine.names(f"{prefix}/lib"):
        if folder.startswith("python3.") and (kind != "system" or name in (folder, "python3", "python")):
            yield f"{prefix}/lib/{folder}/site-packages"
            yield f"{prefix}/lib/{folder}/dist-packages"
    if kind == "system":
        own = machine.real(path).rpartition("/")[2]
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


def pip_on_path(machine: Machine, python: Python) -> Maybe[str | None]:
    """The interpreter of `pip` on PATH, where that is another one than the examined."""
    path = machine.which("pip")
    if path is None:
        return None
    text = machine.line(path) or ""
    interpreter = _interpreter(text) or _by_name(machine, text) or _wrapped(text)
    if interpreter is None:  # such as pyenv's shims, which choose it as they run
        return Unknown(f"{path} does not name its interpreter")
    return None if _is_own(machine, interpreter, python) else interpreter


def own_pip(machine: Machine, prefix: str) -> str | None:
    """The interpreter of an environment's own pip, where it is another one's: the folder was copied or moved."""
    interpreter = _interpreter(machine.line(f"{prefix}/bin/pip") or "")
    return None if interpreter is None or _prefix(machine, interpreter) == machine.real(prefix) else interpreter


def _interpreter(text: str) -> str | None:
    """The interpreter in a script's first line.

    A path too long for the kernel, or with a space in it, stands in the second line, behind #!/bin/sh.
    """
    first, _, rest = text.partition("\n")
    line = rest.partition("\n")[0].partition("exec'")[2] if first == "#!/bin/sh" else first.removeprefix("#!")
    words = line.strip().split('"' if line.strip().startswith('"') else " ")
    interpreter = next((word for word in words if word), "")
    is_python = interpreter.startswith("/") and "python" in interpreter.rpartition("/")[2]
    return interpreter if is_python else None


def _by_name(machine: Machine, text: str) -> str | None:
    """The interpreter that `#!/usr/bin/env python3` finds."""
    found = re.match(r"#!\s*/usr/bin/env (?:-S )?(python[\d.]*)(?:\s|$)", text)
    return machine.which(found[1]) if found else None


def _wrapped(text: str) -> str | None:
    """The interpreter whose pip a script of the shell starts: exec /opt/env/bin/python -m pip "$@"."""
    if not re.match(r"#!\s*/(usr/)?bin/(env )?(ba|da|z)?sh\b", text):
        return None
    found = re.findall(r"""^\s*(?:exec\s+)?["']?(/[^\s"'$]*/python[\d.]*)["']?\s[^#\n]*-m\s+pip\b""", text, re.M)
    return found[-1] if found else None
