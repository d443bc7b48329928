"""What kind of environment an interpreter stands in, and who installs packages there."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator

from gpudoctor.facts.python import CondaPackage, Package
from gpudoctor.knowledge.wanted import matters
from gpudoctor.machine import Machine

LOCKS = {"uv.lock": "uv", "poetry.lock": "poetry", "pixi.lock": "pixi", "pixi.toml": "pixi"}
# conda and its kin write the channel into the first lines of a record; the list of files may follow for megabytes.
_RECORD_HEAD = 1 << 16
_CONDA_NAMES = ("cpuonly", "cud", "libcu", "libtorch", "nccl", "py-opencv", "pytorch", "nvidia", "libmagma", "rocm")


def kind(machine: Machine, prefix: str) -> str:
    """venv, conda, pyenv, standalone (uv's builds) or system."""
    if machine.exists(f"{prefix}/pyvenv.cfg"):
        return "venv"
    if machine.exists(f"{prefix}/conda-meta"):
        return "conda"
    real = machine.real(prefix) + "/"
    pyenv = machine.env.get("PYENV_ROOT") or "/.pyenv"
    if f"{pyenv.rstrip('/')}/versions/" in real:
        return "pyenv"
    return "standalone" if "/uv/python/" in real else "system"


def project(machine: Machine, prefix: str) -> tuple[str, str] | None:
    """The folder that holds a pyproject.toml or pixi.toml with a lock file, and whose lock it is.

    It lies above the environment: PROJECT/.venv, PROJECT/env/gpu, PROJECT/.pixi/envs/default.
    """
    for folder in _above(prefix, 3 if "/.pixi/" in prefix else 2):
        names = set(machine.names(folder))
        if names & {"pyproject.toml", "pixi.toml"}:
            for lock, manager in LOCKS.items():
                if lock in names:
                    return folder, manager
    return None


def _above(prefix: str, levels: int) -> Iterator[str]:
    folder = prefix
    for _ in range(levels):
        folder = os.path.dirname(folder)
        if folder != "/":
            yield folder


def manager(machine: Machine, prefix: str, kind_: str, lock: str | None, packages: Iterable[Package]) -> str:
    """Who installs packages here: conda, pixi, poetry, uv or pip."""
    if kind_ == "conda":
        return "pixi" if "/.pixi/" in prefix else "conda"
    if lock in ("uv", "poetry"):
        return lock
    if "/pypoetry/" in prefix:
        return "poetry"
    installers = Counter(package.installer for package in packages if package.installer)
    by_uv = _made_by_uv(machine, prefix) or (installers and installers.most_common(1)[0][0] == "uv")
    return "uv" if by_uv and not _only_pip(machine, prefix) else "pip"


def _only_pip(machine: Machine, prefix: str) -> bool:
    """Whether uv cannot be typed here, and the environment has a pip of its own (`uv venv --seed`)."""
    scripts = (f"{prefix}/bin/pip", f"{prefix}/Scripts/pip.exe")
    return machine.which("uv") is None and any(machine.exists(script) for script in scripts)


def _made_by_uv(machine: Machine, prefix: str) -> bool:
    text = machine.line(f"{prefix}/pyvenv.cfg") or ""
    return any(line.partition("=")[0].strip() == "uv" for line in text.splitlines())


def conda(machine: Machine, prefix: str) -> tuple[CondaPackage, ...] | None:
    """The records of conda-meta by their names, NAME-VERSION-BUILD.json; None where this is no conda environment."""
    if not machine.exists(f"{prefix}/conda-meta"):
        return None
    found = []
    for name in machine.names(f"{prefix}/conda-meta"):
        parts = name.removesuffix(".json").rsplit("-", 2)
        if name.endswith(".json") and len(parts) == 3:
            channel = _channel(machine, f"{prefix}/conda-meta/{name}") if _interesting(parts[0]) else ""
            found.append(CondaPackage(name=parts[0], version=parts[1], build=parts[2], channel=channel))
    return tuple(found)


def _interesting(name: str) -> bool:
    return name.startswith(_CONDA_NAMES) or matters(name)


def _channel(machine: Machine, path: str) -> str:
    import re

    try:
        text = machine.text(path)
    except OSError:
        return ""
    found = re.search(r'"channel":\s*"([^"]*)"', text[:_RECORD_HEAD])
    return found[1] if found else ""
