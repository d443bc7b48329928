"""Chooses the interpreters to examine: those given, else the one that the user's shell would run."""

import os
import sys
from collections.abc import Iterator, Sequence

from gpudoctor.machine import Machine
from gpudoctor.probes.python_interpreter import is_whole

# Where uvx, `uv tool` and pipx keep the environments of single tools: nobody's frameworks live there.
ISOLATED = ("/uv/tools/", "/pipx/venvs/", "/pipx/.cache/", "/archive-v0/", "/environments-v2/", "/pipx/shared/")
_NAMES = ("python3", "python")
_WINDOWS_NAMES = ("python.exe",)
_SHOP = "/Microsoft/WindowsApps"
_PYTHONS = ("python", "pypy", "graalpy")
_FRAMEWORKS = ("torch", "tensorflow", "cupy", "jax", "onnxruntime")


class InterpreterError(ValueError):
    """An interpreter that the user named is not there, or is none."""


def choose(machine: Machine, given: Sequence[str]) -> list[tuple[str, str]]:
    """The interpreters to examine, each with what chose it.

    Args:
        machine: where they lie.
        given: what the user named: a file, a folder of an environment, or a program on PATH. Empty: the active
            environment, else the first Python on PATH where ours is a tool's own environment or holds no
            framework, else ours.

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
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        prefix = _slashed(machine, machine.env.get(variable, ""))
        python = _in_prefix(machine, prefix) if is_whole(prefix) else None
        if python and not (isolated and machine.real(prefix) == machine.real(sys.prefix)):
            yield python, variable
    if isolated or not own or not machine.here or not _holds_framework(machine):
        yield from ((python, "the first Python on PATH") for python in _on_path(machine))
    yield own or "/usr/bin/python3", "this interpreter"


def _slashed(machine: Machine, path: str) -> str:
    return path.replace("\\", "/") if machine.system == "Windows" else path


def _isolated() -> bool:
    prefix = sys.prefix.replace("\\", "/")
    return any(part in f"{prefix}/" for part in ISOLATED)


def _holds_framework(machine: Machine) -> bool:
    """Whether our own environment is one to examine: a venv made for gpudoctor alone is nobody's workplace."""
    sites = [folder for folder in sys.path if folder.endswith(("site-packages", "dist-packages"))]
    return any(machine.exists(f"{site}/{name}") for site in sites for name in _FRAMEWORKS)


def _on_path(machine: Machine) -> Iterator[str]:
    """The Pythons of PATH, less our own tool environment's, which uvx puts in front."""
    names = _WINDOWS_NAMES if machine.system == "Windows" else _NAMES
    for folder in machine.search_path():
        # The entries of WindowsApps are no programs: they open Microsoft's shop, or stand for what it installed.
        if is_whole(folder) and not f"{folder}/".startswith(f"{sys.prefix}/") and not folder.endswith(_SHOP):
            yield from (f"{folder.rstrip('/')}/{name}" for name in names if _runs(machine, f"{folder}/{name}"))


def _in_prefix(machine: Machine, prefix: str) -> str | None:
    """The Python of an environment, be it a link into nowhere: then that is what is wrong with it."""
    inside = ("Scripts/python.exe", "python.exe") if machine.system == "Windows" else ("bin/python", "bin/python3")
    paths = (f"{prefix.rstrip('/')}/{name}" for name in inside)
    return next((path for path in paths if machine.exists(path) or machine.link(path)), None)


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
        path = _in_prefix(machine, path) or ""
        if not path:
            raise InterpreterError(f"The folder {name} holds no bin/python, so it is no Python environment.")
    elif status is None and not machine.link(path):
        kind = "file or folder" if "/" in name else "file, folder or program on PATH"
        raise InterpreterError(f"There is no {kind} named {name}.")
    _must_be_python(machine, path)
    return path


def _must_be_python(machine: Machine, path: str) -> None:
    target = machine.link(path)
    if target and not machine.exists(path):
        gone = "which is not there, or not to be reached by this user"
        raise InterpreterError(f"{path} is a link to {target}, {gone}.")
    if not _runs(machine, path):
        raise InterpreterError(f"{path} is not executable, so it is no Python interpreter.")
    names = (os.path.basename(path), os.path.basename(machine.real(path)))
    if not any(name.startswith(_PYTHONS) for name in names):
        raise InterpreterError(f"{path} is no Python interpreter, by its name.")


def _expanded(machine: Machine, name: str) -> str:
    home = machine.env.get("HOME", "")
    return home + name[1:] if home and (name == "~" or name.startswith("~/")) else name
