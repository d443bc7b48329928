"""Finds the Python interpreters of a user by looking where tools put them: a bounded look, never a walk."""

import os
from collections.abc import Iterable, Iterator

import msgspec

from gpudoctor.machine import Machine
from gpudoctor.probes.python.choice import ISOLATED

# Nobody picks from a longer list, and no folder of environments that somebody keeps by hand holds more.
MOST, MOST_NAMES = 80, 200
_BIN = ("bin/python", "bin/python3")
_SYSTEM = ("/usr/bin", "/usr/local/bin")
_CONDAS = ("miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", ".conda")


class FoundInterpreter(msgspec.Struct, frozen=True):
    """An interpreter that nobody has asked yet.

    Attributes:
        path: the interpreter.
        kind: venv, conda, pyenv, uv, system.
    """

    path: str
    kind: str


def probe(machine: Machine) -> tuple[FoundInterpreter, ...]:
    """The interpreters in the usual places, those of the working directory first; each once."""
    found: dict[str, FoundInterpreter] = {}
    for one in _looked(machine):
        found.setdefault(_identity(machine, one), one)
        if len(found) == MOST:
            break
    return tuple(found.values())


def _identity(machine: Machine, one: FoundInterpreter) -> str:
    """What two paths to one interpreter have in common: of an environment its folder, else the file itself."""
    if one.kind == "system":
        return machine.real(one.path)
    return machine.real(os.path.dirname(os.path.dirname(one.path)))


def _looked(machine: Machine) -> Iterator[FoundInterpreter]:
    yield from _of("venv", machine, _venvs(machine))
    yield from _of("conda", machine, _condas(machine))
    yield from _of("pyenv", machine, _pyenv(machine))
    yield from _of("uv", machine, _uv(machine))
    for path in _system(machine):
        yield FoundInterpreter(path, "system")


def _of(kind: str, machine: Machine, prefixes: Iterable[str]) -> Iterator[FoundInterpreter]:
    for prefix in prefixes:
        if any(part in f"{prefix}/" for part in ISOLATED) or (kind == "venv") != machine.exists(f"{prefix}/pyvenv.cfg"):
            continue
        path = next((f"{prefix}/{name}" for name in _BIN if machine.exists(f"{prefix}/{name}")), None)
        if path:
            yield FoundInterpreter(path, kind)


def _names(machine: Machine, folder: str) -> list[str]:
    return machine.names(folder)[:MOST_NAMES]


def _below(machine: Machine, *folders: str) -> Iterator[str]:
    for folder in folders:
        yield from (f"{folder}/{name}" for name in _names(machine, folder))


def _home(machine: Machine) -> str | None:
    home = machine.env.get("HOME", "").rstrip("/")
    return home if home.startswith("/") else None


def _setting(machine: Machine, variable: str, otherwise: str) -> list[str]:
    """The folder that a variable names, else the one below the home where its tool puts it."""
    value, home = machine.env.get(variable, ""), _home(machine)
    if value.startswith("/"):
        return [value.rstrip("/")]
    return [f"{home}/{otherwise}"] if home else []


def _venvs(machine: Machine) -> Iterator[str]:
    """Environments of the working directory, of its projects, and in the folders that people keep them in."""
    yield from (prefix for prefix in [machine.env.get("VIRTUAL_ENV", "").rstrip("/")] if prefix.startswith("/"))
    here, home = machine.env.get("PWD", "").rstrip("/"), _home(machine)
    if here.startswith("/"):
        yield from (f"{here}/{name}" for name in (".venv", "venv", "env"))
        for folder in _below(machine, here):
            yield from (folder, f"{folder}/.venv", f"{folder}/venv")
    if home:
        yield from (f"{home}/{name}" for name in (".venv", "venv"))
        yield from _below(machine, f"{home}/.venvs", f"{home}/venvs", f"{home}/envs")
    yield from _below(machine, *_setting(machine, "WORKON_HOME", ".virtualenvs"))
    yield from _below(machine, *(f"{f}/virtualenvs" for f in _setting(machine, "POETRY_CACHE_DIR", ".cache/pypoetry")))


def _condas(machine: Machine) -> Iterator[str]:
    home, roots = _home(machine), ["/opt/conda"]
    yield from (prefix for prefix in [machine.env.get("CONDA_PREFIX", "").rstrip("/")] if prefix.startswith("/"))
    program = machine.env.get("CONDA_EXE", "")  # ROOT/bin/conda
    if program.startswith("/"):
        roots.append(os.path.dirname(os.path.dirname(program)))
    if home:
        lines = (machine.line(f"{home}/.conda/environments.txt") or "").splitlines()
        yield from (line.strip().rstrip("/") for line in lines[:MOST_NAMES] if line.startswith("/"))
        roots += [f"{home}/{name}" for name in _CONDAS]
    yield from roots
    yield from _below(machine, *(f"{root}/envs" for root in roots))


def _pyenv(machine: Machine) -> Iterator[str]:
    yield from _below(machine, *(f"{root}/versions" for root in _setting(machine, "PYENV_ROOT", ".pyenv")))


def _uv(machine: Machine) -> Iterator[str]:
    """Where `uv python install` puts its builds, https://docs.astral.sh/uv/reference/storage/."""
    own = machine.env.get("UV_PYTHON_INSTALL_DIR", "").rstrip("/")
    data = _setting(machine, "XDG_DATA_HOME", ".local/share")
    yield from _below(machine, *([own] if own.startswith("/") else [f"{folder}/uv/python" for folder in data]))


def _system(machine: Machine) -> Iterator[str]:
    """The interpreters of the system and of PATH: python3 first, python3.12 too, python3-config not."""
    path = [folder.rstrip("/") for folder in machine.env.get("PATH", "").split(":") if folder.startswith("/")]
    environments = {folder for folder in path if machine.exists(f"{os.path.dirname(folder)}/pyvenv.cfg")}
    for folder in dict.fromkeys((*_SYSTEM, *path)):
        if folder not in environments and "/shims" not in folder:
            for name in ("python3", *(f"python3.{minor}" for minor in range(8, 20))):
                if _runs(machine, f"{folder}/{name}"):
                    yield f"{folder}/{name}"


def _runs(machine: Machine, path: str) -> bool:
    status = machine.status(path)
    return status is not None and not status.is_dir and bool(status.mode & 0o111)
