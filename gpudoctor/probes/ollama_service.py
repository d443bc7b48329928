"""The unit of systemd that starts Ollama: whose rights its server has, and which variables it starts with."""

import re
import shlex
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gpudoctor.digits import number_of
from gpudoctor.facts.ollama import NO_SERVICE, OllamaService, OllamaSetting
from gpudoctor.knowledge.ollama import ollama
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers.numbers import whole

_NAMES = ("CUDA_VISIBLE_DEVICES", "GGML_VK_VISIBLE_DEVICES", "OLLAMA_LLM_LIBRARY", "OLLAMA_VULKAN")
_OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"  # a suffix names one of several GPUs
# systemd.unit(5): the first has precedence.
_PLACES = (
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
)
_UNIT = "ollama.service"
_KEYS = "User|DynamicUser|Group|SupplementaryGroups|Environment|EnvironmentFile|UnsetEnvironment"
_YES = ("1", "yes", "true", "on")
_LOADED = "/sys/module/nvidia/version"


class _Line(NamedTuple):
    """A setting below [Service]."""

    path: str
    key: str
    value: str


def old_driver(machine: Machine) -> bool:
    """Whether NVIDIA's driver may be older than Ollama needs; WSL does not show Windows' own here."""
    version = machine.line(_LOADED)
    if version is None:
        return machine.exists("/dev/dxg")
    branch = number_of(version.partition(".")[0])
    return branch is not None and branch < max(row.branch for row in ollama().driver)


def matters(settings: Maybe[tuple[OllamaSetting, ...]]) -> bool:
    """Whether a setting is there whose effect depends on Ollama's release."""
    return isinstance(settings, Unknown) or any(one.name in _NAMES for one in settings)


def probe(machine: Machine) -> tuple[OllamaService, Maybe[tuple[OllamaSetting, ...]]]:
    """The account of the service, and the variables of its server: without a unit, those of this environment."""
    files = list(_files(machine))
    if not files:
        env = machine.env
        return NO_SERVICE, tuple(OllamaSetting(name=n, value=v) for n, v in env.items() if v and _counts(n))
    try:
        lines = [line for path in files for line in _lines(path, machine.text(path))]
    except OSError as error:
        hidden = Unknown(f"{error.filename or _UNIT}: {error.strerror or error}")
        return OllamaService(user=hidden, groups=hidden), hidden
    return _account(machine, lines), _settings(machine, lines)


def _files(machine: Machine) -> Iterator[str]:
    """The unit, then its drop-ins in the order of their names; one in /etc hides one of the same name elsewhere."""
    unit = next((path for place in _PLACES if machine.exists(path := f"{place}/{_UNIT}")), None)
    if unit is None:
        return
    yield unit
    places = [(name, f"{place}/{_UNIT}.d/{name}") for place in _PLACES for name in machine.names(f"{place}/{_UNIT}.d")]
    drop_ins: dict[str, str] = {}
    for name, path in places:
        if name.endswith(".conf"):
            drop_ins.setdefault(name, path)
    yield from (drop_ins[name] for name in sorted(drop_ins))


def _lines(path: str, text: str) -> Iterator[_Line]:
    section = ""
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("["):
            section = line.strip()
        found = re.fullmatch(rf"\s*({_KEYS})\s*=\s*(.*?)\s*", line)
        if found and section == "[Service]":
            yield _Line(path, found[1], found[2])


def _list(lines: Iterable[_Line], key: str) -> list[_Line]:
    """All lines of a setting that adds to itself; an empty one begins again."""
    found: list[_Line] = []
    for line in lines:
        if line.key == key:
            found = [*found, line] if line.value else []
    return found


def _account(machine: Machine, lines: list[_Line]) -> OllamaService:
    last = {line.key: line.value for line in lines}
    made = last.get("DynamicUser") in _YES  # its user and group exist only while it runs
    user = last.get("User") or ("ollama" if made else "root")
    accounts, groups = _fields(machine, "/etc/passwd"), _fields(machine, "/etc/group")
    numbers = {group[0]: gid for group in groups if (gid := whole(group[2])) is not None}
    own = next((whole(account[3]) for account in accounts if user in (account[0], account[2])), None)
    if own is None and not made:
        return OllamaService(user=user, groups=Unknown(f"/etc/passwd does not have the user {user} of {_UNIT}"))
    more = [name for line in _list(lines, "SupplementaryGroups") for name in line.value.split()]
    named = [whole(name) if name.isdecimal() else numbers.get(name) for name in (last.get("Group"), *more) if name]
    member = (numbers.get(group[0]) for group in groups if user in group[3].split(","))
    return OllamaService(user=user, groups=tuple(sorted({gid for gid in (own, *named, *member) if gid is not None})))


def _settings(machine: Machine, lines: list[_Line]) -> Maybe[tuple[OllamaSetting, ...]]:
    """Files of variables come last, as systemd.exec(5) has it."""
    given: dict[str, OllamaSetting] = {}
    for line in _list(lines, "Environment"):
        _set(given, _words(line.value), line.path)
    for line in _list(lines, "EnvironmentFile"):
        path = line.value.removeprefix("-")
        try:
            if path == line.value or machine.exists(path):
                _set(given, machine.text(path).splitlines(), path)
        except OSError as error:
            return Unknown(f"{path}: {error.strerror or error}")
    removed = {name for line in lines if line.key == "UnsetEnvironment" for name in _words(line.value)}
    return tuple(one for name, one in sorted(given.items()) if name not in removed)


def _counts(name: str) -> bool:
    return name in _NAMES or name.startswith(_OVERRIDE)


def _set(given: dict[str, OllamaSetting], words: Iterable[str], path: str) -> None:
    """Take the assignments among words; an empty value counts as none."""
    for word in words:
        name, _, value = word.strip().partition("=")
        if _counts(name):
            given.pop(name, None)
            if value := value.strip().strip("\"'"):
                given[name] = OllamaSetting(name=name, value=value, path=path)


def _words(value: str) -> list[str]:
    try:
        return shlex.split(value)
    except ValueError:  # an open quotation mark: systemd ignores the line
        return []


def _fields(machine: Machine, path: str) -> list[list[str]]:
    try:
        lines = (line.split(":") for line in machine.text(path).splitlines())
    except OSError:
        return []
    return [fields for fields in lines if len(fields) >= 4]
