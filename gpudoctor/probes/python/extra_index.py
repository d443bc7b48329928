"""What makes pip or uv ask further package indexes than the one that a command names."""

import os
from collections.abc import Iterator
from typing import Any

from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown

_VARIABLES = {"pip": ("PIP_EXTRA_INDEX_URL",), "uv": ("UV_INDEX", "UV_EXTRA_INDEX_URL")}
_LARGEST = 1 << 20  # bytes of a file


def extra_index(machine: Machine, prefix: str, installer: str) -> Maybe[str | None]:
    """The variable or the file that configures one; None: nothing does.

    https://pip.pypa.io/en/stable/topics/configuration/, https://docs.astral.sh/uv/concepts/configuration-files/

    Args:
        machine: the machine.
        prefix: of the environment, which may have a configuration of its own.
        installer: who installs there; what is not uv is pip.
    """
    by, word = ("uv", "index") if installer == "uv" else ("pip", "extra")
    for name in _VARIABLES[by]:
        if machine.env.get(name, "").strip():
            return name
    closed: Maybe[str | None] = None
    for path in _uv_files(machine) if by == "uv" else _pip_files(machine, prefix):
        if not machine.exists(path):
            continue
        try:
            text = machine.text(path, _LARGEST)
            # Most files name none, and need no parser.
            if word in text.lower() and (_in_toml(path, text) if by == "uv" else _in_ini(text)):
                return path
        except OSError:
            closed = Unknown(f"{path} cannot be read")
        except (ValueError, RecursionError):
            closed = Unknown(f"{path} cannot be parsed")
    return closed


def _in_ini(text: str) -> bool:
    """Whether pip would take one from this file when it installs.

    Raises:
        ValueError: it cannot be parsed, by pip either.
    """
    import configparser

    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(str(error)) from error
    settings = (one for name in ("global", "install") if parser.has_section(name) for one in parser.items(name))
    return any(
        name.lower().replace("_", "-").removeprefix("--") == "extra-index-url" and value for name, value in settings
    )


def _in_toml(path: str, text: str) -> bool:
    """Whether `uv pip` would take one from this file: a default index gives way to the command's.

    Raises:
        ValueError: it cannot be parsed.
    """
    from gpudoctor.toml import tomllib

    settings: Any = tomllib.loads(text)
    for name in ("tool", "uv") if path.endswith("/pyproject.toml") else ():
        settings = _table(settings.get(name))
    listed = settings.get("index")
    indexes = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return (
        any(not one.get("default") and not one.get("explicit") for one in indexes)
        or bool(settings.get("extra-index-url"))
        or bool(_table(settings.get("pip")).get("extra-index-url"))
    )


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _home(machine: Machine) -> str:
    return machine.env.get("HOME", "").rstrip("/")


def _config(machine: Machine) -> str:
    return machine.env.get("XDG_CONFIG_HOME") or f"{_home(machine)}/.config"


def _pip_files(machine: Machine, prefix: str) -> Iterator[str]:
    own = machine.env.get("PIP_CONFIG_FILE", "")
    if own == "/dev/null":  # pip then reads none of them
        return
    yield from filter(None, (own, f"{prefix}/pip.conf", f"{_config(machine)}/pip/pip.conf"))
    yield from (f"{_home(machine)}/.pip/pip.conf", "/etc/xdg/pip/pip.conf", "/etc/pip.conf")


def _uv_files(machine: Machine) -> Iterator[str]:
    """The user's, the system's and the project's, each of which adds to the others.

    uv takes the project's from one directory, the nearest or, in a workspace, one above: which, only uv knows.
    """
    own = machine.env.get("UV_CONFIG_FILE", "")
    if own or machine.env.get("UV_NO_CONFIG", "").lower() in ("1", "true", "yes", "on", "y", "t"):
        yield from filter(None, (own,))
        return
    folder = machine.env.get("PWD", "")
    while folder.startswith("/"):
        there = folder.rstrip("/")
        uv = f"{there}/uv.toml"
        yield uv if machine.exists(uv) else f"{there}/pyproject.toml"
        folder = os.path.dirname(there)
    yield from (f"{_config(machine)}/uv/uv.toml", "/etc/uv/uv.toml")
