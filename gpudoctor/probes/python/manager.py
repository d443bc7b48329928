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
_CXX = "libstdc++.so.6"
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
    """Who installs packages here: conda, pixi, poetry, uv or pip.

    The environment's own pip does what uv would, also where uv made the environment and is not on PATH: copied to
    another machine, in an image that kept only the environment, or under sudo.
    """
    if kind_ == "conda":
        return "pixi" if "/.pixi/" in prefix else "conda"
    if lock in ("uv", "poetry"):
        return lock
    if "/pypoetry/" in prefix:
        return "poetry"
    there = tuple(packages)
    if any(package.name == "pip" for package in there) and not machine.which("uv"):
        return "pip"  # uv made it elsewhere: in another stage of an image's build, or before it was removed
    if _made_by_uv(machine, prefix):
        return "uv"
    installers = Counter(package.installer for package in there if package.installer)
    return "uv" if installers and installers.most_common(1)[0][0] == "uv" else "pip"


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


def unlinked_libstdcxx(machine: Machine, prefix: str) -> tuple[str, ...]:
    """The files libstdc++.so.6.* of a conda environment that lacks the link by which the loader finds them."""
    folder = f"{prefix}/lib"
    if not machine.exists(f"{prefix}/conda-meta") or machine.exists(f"{folder}/{_CXX}"):
        return ()
    names = (name for name in machine.names(folder) if name.startswith(f"{_CXX}.") and name[-1].isdigit())
    return tuple(f"{folder}/{name}" for name in names)


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
