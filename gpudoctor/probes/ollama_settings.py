"""The variables that Ollama's server starts with, and whether its release matters for the driver."""

import re
import shlex
from collections.abc import Iterable, Iterator

from gpudoctor.digits import number_of
from gpudoctor.facts.ollama import OllamaSetting
from gpudoctor.knowledge.ollama import ollama
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown

_NAMES = ("CUDA_VISIBLE_DEVICES", "GGML_VK_VISIBLE_DEVICES", "OLLAMA_LLM_LIBRARY", "OLLAMA_VULKAN")
# systemd.unit(5): the first has precedence.
_UNITS = (
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
)
_UNIT = "ollama.service"
_LOADED = "/sys/module/nvidia/version"


def old_driver(machine: Machine) -> bool:
    """Whether NVIDIA's driver may be older than Ollama needs; WSL does not show Windows' own here."""
    version = machine.line(_LOADED)
    if version is None:
        return machine.exists("/dev/dxg")
    branch = number_of(version.partition(".")[0])
    return branch is not None and branch < max(row.branch for row in ollama().driver)


def settings(machine: Machine) -> Maybe[tuple[OllamaSetting, ...]]:
    """The variables of the service, files of variables last, as systemd.exec(5) has it; without a unit: our own."""
    files = list(_files(machine))
    if not files:
        env = machine.env
        return tuple(OllamaSetting(name=name, value=env[name]) for name in _NAMES if env.get(name))
    given: dict[str, OllamaSetting] = {}
    named: list[str] = []  # files of variables
    removed: set[str] = set()
    try:
        for path in files:
            for key, value in _service(machine.text(path)):
                if not value and key == "Environment":
                    given.clear()
                elif key == "Environment":
                    _set(given, _words(value), path)
                elif key == "EnvironmentFile":
                    named = [*named, value] if value else []
                else:
                    removed |= set(_words(value))
        for each in named:
            path = each.removeprefix("-")
            if not each.startswith("-") or machine.exists(path):
                _set(given, machine.text(path).splitlines(), path)
    except OSError as error:
        return Unknown(f"{path}: {error.strerror or error}")
    return tuple(given[name] for name in _NAMES if name in given and name not in removed)


def _files(machine: Machine) -> Iterator[str]:
    """The unit, then its drop-ins in the order of their names; one in /etc hides one of the same name elsewhere."""
    unit = next((path for place in _UNITS if machine.exists(path := f"{place}/{_UNIT}")), None)
    if unit is None:
        return
    yield unit
    places = [(name, f"{place}/{_UNIT}.d/{name}") for place in _UNITS for name in machine.names(f"{place}/{_UNIT}.d")]
    drop_ins: dict[str, str] = {}
    for name, path in places:
        if name.endswith(".conf"):
            drop_ins.setdefault(name, path)
    yield from (drop_ins[name] for name in sorted(drop_ins))


def _service(text: str) -> Iterator[tuple[str, str]]:
    """The settings of variables below [Service]."""
    section = ""
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("["):
            section = line.strip()
        found = re.fullmatch(r"\s*(Environment|EnvironmentFile|UnsetEnvironment)\s*=\s*(.*?)\s*", line)
        if found and section == "[Service]":
            yield found[1], found[2]


def _set(given: dict[str, OllamaSetting], words: Iterable[str], path: str) -> None:
    """Take the assignments among words; an empty value counts as none."""
    for word in words:
        name, _, value = word.strip().partition("=")
        if name in _NAMES:
            given.pop(name, None)
            if value := value.strip().strip("\"'"):
                given[name] = OllamaSetting(name=name, value=value, path=path)


def _words(value: str) -> list[str]:
    try:
        return shlex.split(value)
    except ValueError:  # an open quotation mark: systemd ignores the line
        return []
