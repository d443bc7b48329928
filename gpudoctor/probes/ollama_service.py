"""The unit of systemd that starts Ollama: whose rights it has, and which variables it sets."""

from gpudoctor.facts.ollama import NO_SERVICE, OllamaService
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers.numbers import whole

# systemd.unit(5): the first that has the unit counts; drop-ins of all are read, by the names of the files.
_FOLDERS = ("/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system")
_UNIT = "ollama.service"
_YES = ("1", "yes", "true", "on")
_SETTING = pattern(r"(?m)^[ \t]*(User|DynamicUser|Group|SupplementaryGroups|EnvironmentFile)[ \t]*=[ \t]*(.*?)[ \t]*$")
_OVERRIDE = pattern(r"(?m)^[ \t]*[^#;\s].*?\bHSA_OVERRIDE_GFX_VERSION(?:_\d+)?=[\"']?(\d[\w.]*)")
_FILE_OVERRIDE = pattern(r"(?m)^[ \t]*HSA_OVERRIDE_GFX_VERSION(?:_\d+)?=[\"']?(\d[\w.]*)")


def probe(machine: Machine) -> OllamaService:
    """Read the unit with its drop-ins."""
    unit = next((text for folder in _FOLDERS if (text := _read(machine, f"{folder}/{_UNIT}"))), None)
    if unit is None:
        return NO_SERVICE
    text = "\n".join((unit, *_drop_ins(machine)))
    last = dict(_SETTING.findall(text))
    user = last.get("User") or ("ollama" if last.get("DynamicUser") in _YES else "root")
    return OllamaService(
        user=user,
        groups=_groups(machine, user, last, _words(text, "SupplementaryGroups")),
        override=_override(machine, text),
    )


def _drop_ins(machine: Machine) -> list[str]:
    found = {
        name: f"{folder}/{_UNIT}.d/{name}"
        for folder in reversed(_FOLDERS)
        for name in machine.names(f"{folder}/{_UNIT}.d")
        if name.endswith(".conf")
    }
    return [_read(machine, found[name]) or "" for name in sorted(found)]


def _words(text: str, setting: str) -> list[str]:
    """All words of a setting that adds to itself; an empty one begins again."""
    words: list[str] = []
    for name, value in _SETTING.findall(text):
        if name == setting:
            words = [*words, *value.split()] if value else []
    return words


def _groups(machine: Machine, user: str, last: dict[str, str], more: list[str]) -> Maybe[tuple[int, ...]]:
    accounts, lines = _fields(machine, "/etc/passwd"), _fields(machine, "/etc/group")
    numbers = {line[0]: number for line in lines if (number := whole(line[2])) is not None}
    own = next((whole(line[3]) for line in accounts if user in (line[0], line[2])), None)
    if own is None and last.get("DynamicUser") not in _YES:
        return Unknown(f"/etc/passwd does not have the user {user} of {_UNIT}")
    named = [whole(name) if name.isdecimal() else numbers.get(name) for name in (last.get("Group"), *more) if name]
    member = (numbers.get(line[0]) for line in lines if user in line[3].split(","))
    return tuple(sorted({gid for gid in (own, *named, *member) if gid is not None}))


def _override(machine: Machine, text: str) -> Maybe[str | None]:
    found = _OVERRIDE.findall(text)
    for path in _words(text, "EnvironmentFile"):
        name = path.removeprefix("-")
        other = _read(machine, name)
        if other is None and (name == path or machine.exists(name)):
            return Unknown(f"{name} of {_UNIT} could not be read")
        found += _FILE_OVERRIDE.findall(other or "")
    return found[-1] if found else None


def _fields(machine: Machine, path: str) -> list[list[str]]:
    lines = (line.split(":") for line in (_read(machine, path) or "").splitlines())
    return [fields for fields in lines if len(fields) >= 4]


def _read(machine: Machine, path: str) -> str | None:
    try:
        return machine.text(path)
    except OSError:
        return None
