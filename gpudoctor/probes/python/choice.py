"""Chooses the interpreters to examine: those given, else the one that the user's shell would run."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.parsers.metadata import normalise, read_head
from gpudoctor.parsers.pip_leftovers import could_be
from gpudoctor.probes.python.interpreter import is_whole
from gpudoctor.registry import BY_MODULE

# Where uvx, `uv tool` and pipx keep the environments of single tools: nobody's frameworks live there.
ISOLATED = ("/uv/tools/", "/pipx/venvs/", "/pipx/.cache/", "/archive-v0/", "/environments-v2/", "/pipx/shared/")
_NAMES = ("python3", "python")
_WINDOWS_NAMES = ("python.exe",)
_SHOP = "/Microsoft/WindowsApps"
_PYTHONS = ("python", "pypy", "graalpy")
ON_PATH, OURS = "the first Python on PATH", "this interpreter"
_NAME = pattern(r"^[\w.-]+")  # of a requirement
_SEEDS = ("pip", "setuptools", "wheel")  # what comes with every environment


class InterpreterError(ValueError):
    """An interpreter that the user named is not there, or is none."""


def choose(machine: Machine, given: Sequence[str]) -> list[tuple[str, str]]:
    """The interpreters to examine, each with what chose it.

    Args:
        machine: where they lie.
        given: what the user named: a file, a folder of an environment, or a program on PATH. Empty: the active
            environment, else that of the working directory (`project_env`), else the first Python on PATH where ours
            is a tool's own environment or holds no framework, else ours. An environment that holds gpudoctor alone
            counts as neither active nor that of the directory.

    Raises:
        InterpreterError: a given one is missing, is not executable, or is no Python.
    """
    if given:
        chosen = {_named(machine, name): "--python" for name in given}
        return list(chosen.items())
    return [next(_offers(machine))]


def _offers(machine: Machine) -> Iterator[tuple[str, str]]:
    own = _slashed(machine, sys.executable or "")
    isolated = _isolated()
    at_work = cache(lambda: _holds_framework(machine))  # each of the two reads the environment's directories
    alone = cache(lambda: isolated or (machine.here and not at_work() and _is_alone(machine)))
    active, base = _active(machine, alone)
    yield from active
    idle = isolated or not own or not machine.here or not at_work()
    from gpudoctor.probes.python.project_env import find, python_of  # only where nobody names the Python

    found = find(machine)
    if found and found.stranger is None and not (_is_ours(machine, found.prefix) and alone()):
        yield python_of(machine, found.prefix) or f"{found.prefix}/bin/python", found.why
    yield from base
    if idle:
        yield from ((python, ON_PATH) for python in _on_path(machine))
    yield own or "/usr/bin/python3", OURS


def _active(machine: Machine, alone: Callable[[], bool]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The active environments, and apart conda's base: it is active in every shell, so it tells no wish.

    An environment that we run in and that holds nothing but us is neither: README's first command makes one.
    """
    active, base = list[tuple[str, str]](), list[tuple[str, str]]()
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        prefix = _slashed(machine, machine.env.get(variable, ""))
        python = _python_of(machine, prefix) if is_whole(prefix) else None
        if python and not (_is_ours(machine, prefix) and alone()):
            (base if variable == "CONDA_PREFIX" and _is_base(machine, prefix) else active).append((python, variable))
    return active, base


def _python_of(machine: Machine, prefix: str) -> str | None:
    from gpudoctor.probes.python.project_env import python_of  # not for a Python that is named

    return python_of(machine, prefix)


def _is_base(machine: Machine, prefix: str) -> bool:
    """Whether this is conda's base environment, by the name that it has in the shell, else by its place."""
    name = machine.env.get("CONDA_DEFAULT_ENV", "")
    return name in ("base", "root") if name else "/envs/" not in prefix


def _slashed(machine: Machine, path: str) -> str:
    return path.replace("\\", "/") if machine.system == "Windows" else path


def _isolated() -> bool:
    prefix = sys.prefix.replace("\\", "/")
    return any(part in f"{prefix}/" for part in ISOLATED)


def _is_ours(machine: Machine, prefix: str) -> bool:
    """Whether an environment is the one we run in."""
    return machine.real(prefix) == machine.real(_slashed(machine, sys.prefix))


def _is_alone(machine: Machine) -> bool:
    """Whether our environment has no distribution but us, and what we and our extras require."""
    from gpudoctor.extras import NAME

    paths = [_slashed(machine, path) for path in sys.path if path.startswith(sys.prefix)]
    sites = [path for path in paths if path.endswith(("site-packages", "dist-packages"))]
    there = {
        normalise(name.partition("-")[0]): f"{site}/{name}/METADATA"
        for site in sites
        for name in machine.names(site)
        if name.endswith(".dist-info")
    }
    ours, new = set(_SEEDS), {NAME}
    while new:
        ours |= new
        heads = [read_head(machine.line(there[name]) or "") for name in new if name in there]
        new = {normalise(name) for head in heads for spec in head.requires for name in _NAME.findall(spec)} - ours
    return there.keys() <= ours and (NAME in there or not there)


def _holds_framework(machine: Machine) -> bool:
    """Whether our own environment is one to examine: a venv made for gpudoctor alone is nobody's workplace.

    What an interrupted pip left of a framework counts too.
    """
    sites = [folder for folder in sys.path if folder.endswith(("site-packages", "dist-packages"))]
    return any(_speaks_of_framework(name) for site in sites for name in machine.names(site))


def _speaks_of_framework(name: str) -> bool:
    stem = name.partition("-")[0]
    return stem in BY_MODULE or any(could_be(stem, framework) for framework in BY_MODULE)


def _on_path(machine: Machine) -> Iterator[str]:
    """The Pythons of PATH, less our own tool environment's, which uvx puts in front."""
    names = _WINDOWS_NAMES if machine.system == "Windows" else _NAMES
    for folder in machine.search_path():
        # The entries of WindowsApps are no programs: they open Microsoft's shop, or stand for what it installed.
        if is_whole(folder) and not f"{folder}/".startswith(f"{sys.prefix}/") and not folder.endswith(_SHOP):
            yield from (f"{folder.rstrip('/')}/{name}" for name in names if _runs(machine, f"{folder}/{name}"))


def _runs(machine: Machine, path: str) -> bool:
    status = machine.status(path)
    executable = machine.system == "Windows" or (status is not None and bool(status.mode & 0o111))
    return status is not None and not status.is_dir and executable


def _named(machine: Machine, name: str) -> str:
    path = _slashed(machine, os.path.abspath(_expanded(machine, name)))
    status = machine.status(path)
    if status is None and "/" not in _slashed(machine, name):
        path = machine.which(name) or ""
        status = machine.status(path) if path else None
    if status is not None and status.is_dir:
        path = _python_of(machine, path) or ""
        if not path:
            raise InterpreterError(f"Not a Python environment: the directory {name} contains no bin/python.")
    elif status is None and not machine.link(path):
        kind = "file or directory" if "/" in name else "file, directory or program on PATH"
        raise InterpreterError(f"{name}: no such {kind}.")
    _must_be_python(machine, path)
    return path


def _must_be_python(machine: Machine, path: str) -> None:
    target = machine.link(path)
    if target and not machine.exists(path):
        gone = "which does not exist or cannot be accessed by this user"
        raise InterpreterError(f"{path} is a link to {target}, {gone}.")
    if not _runs(machine, path):
        raise InterpreterError(f"Not a Python interpreter: {path} is not executable.")
    names = (os.path.basename(path), os.path.basename(machine.real(path)))
    if not any(name.startswith(_PYTHONS) for name in names):
        raise InterpreterError(f"{path} is not named like a Python interpreter.")


def _expanded(machine: Machine, name: str) -> str:
    home = machine.env.get("HOME", "")
    return home + name[1:] if home and (name == "~" or name.startswith("~/")) else name
