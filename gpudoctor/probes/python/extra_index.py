"""What makes pip or uv ask further package indexes than the one that a command names."""

from collections.abc import Iterator

from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown

_VARIABLES = {"pip": ("PIP_EXTRA_INDEX_URL",), "uv": ("UV_INDEX", "UV_EXTRA_INDEX_URL")}
# "extra-index-url = ADDRESS" in an INI file or a list of them in TOML; [[index]] is TOML's.
_SETTING = pattern(r"(?m)^\s*(?:extra[-_]index[-_]url\s*=\s*(?!\[\s*\])\S|\[\[index\]\])")


def extra_index(machine: Machine, prefix: str, installer: str) -> Maybe[str | None]:
    """The variable or the file that configures one; None: nothing does.

    https://pip.pypa.io/en/stable/topics/configuration/, https://docs.astral.sh/uv/concepts/configuration-files/

    Args:
        machine: the machine.
        prefix: of the environment, which may have a configuration of its own.
        installer: who installs there; what is not uv is pip.
    """
    by = "uv" if installer == "uv" else "pip"
    for name in _VARIABLES[by]:
        if machine.env.get(name, "").strip():
            return name
    closed: Maybe[str | None] = None
    for path in _uv_files(machine) if by == "uv" else _pip_files(machine, prefix):
        if not machine.exists(path):
            continue
        text = machine.line(path)
        if text is None:
            closed = Unknown(f"{path} cannot be read")
        elif _SETTING.search(text):
            return path
    return closed


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
    own = machine.env.get("UV_CONFIG_FILE", "")
    yield from (own,) if own else (f"{_config(machine)}/uv/uv.toml", "/etc/uv/uv.toml")
