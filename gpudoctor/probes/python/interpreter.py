"""Asks an interpreter what it is: in this process where it is our own, else in a child."""

import os
import sys
from collections.abc import Iterable
from functools import partial
from typing import Any

import msgspec

from gpudoctor.child import Background, ChildResult
from gpudoctor.machine import Machine
from gpudoctor.workers import interpreter

# A start takes 10 to 50 ms, some seconds from a cold network file system; ten seconds are a hang.
SECONDS = 10.0
# The oldest Python in which the scripts under workers/ run.
OLDEST = (3, 8)

# Variables with which Python runs code of the user's, waits for input, or writes more than it was asked for.
UNWANTED = frozenset(
    {
        "PYTHONSTARTUP", "PYTHONINSPECT", "PYTHONBREAKPOINT", "PYTHONPROFILEIMPORTTIME", "PYTHONVERBOSE",
        "PYTHONDEBUG", "PYTHONDUMPREFS", "PYTHONDUMPREFSFILE", "PYTHONTRACEMALLOC", "PYTHONMALLOCSTATS",
        "PYTHONASYNCIODEBUG", "PYTHONDEVMODE", "PYTHONWARNINGS", "PYTHONFAULTHANDLER", "PYTHON_PERF_JIT_SUPPORT",
    }
)  # fmt: skip


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What an interpreter said of itself; `spent` are the seconds that the answer itself took."""

    executable: str
    version: str
    full_version: str
    implementation: str
    implementation_version: str
    bits: int
    prefix: str
    base_prefix: str
    sys_path: tuple[str, ...]
    user_site: str | None
    sites: tuple[str, ...]
    include: str | None
    purelib: str | None
    libraries: tuple[str | None, ...]
    system: tuple[str, ...]
    standard: tuple[str, ...] = ()
    spent: float | None = None
    startup: float | None = None


class _Version(msgspec.Struct):
    version: str


def ask_early(machine: Machine, interpreters: Iterable[tuple[str, str]]) -> None:
    """Have interpreters asked beside what this process does meanwhile; `ask` then waits only for the rest.

    Args:
        machine: where they lie; under another root nothing is run.
        interpreters: each with what chose it, as `choose` gives them.
    """
    for path, _ in interpreters if machine.here else ():
        if path not in machine.early and not is_own(machine, path):
            machine.early[path] = Background(partial(_ask_child, machine, path))


def ask(machine: Machine, path: str) -> Said | str:
    """What the interpreter says, or the one sentence why it says nothing."""
    if is_own(machine, path):
        return _own()
    early = machine.early.pop(path, None)
    return early.result() if early else _ask_child(machine, path)


def _ask_child(machine: Machine, path: str) -> Said | str:
    env = child_environment(machine)
    script = os.path.abspath(interpreter.__file__)
    seconds = machine.left(SECONDS)
    ended = machine.run([path, script], seconds, env, patient=True)
    return _failure(path, ended, seconds) or _read(path, ended)


def is_whole(path: str) -> bool:
    """Whether a path begins at the root, or at a drive of Windows."""
    return path.startswith("/") or path[1:3] == ":/"


def _slashed(said: Said) -> Said:
    """The answer with slashes in its paths, which Windows takes too, so that one rule reads both."""
    if not said.system or said.system[0] != "Windows":
        return said
    plain: dict[str, Any] = {
        name: value.replace("\\", "/") if isinstance(value, str) else value
        for name, value in msgspec.structs.asdict(said).items()
    }
    for name in ("sys_path", "sites", "libraries"):
        plain[name] = tuple(path and path.replace("\\", "/") for path in plain[name])
    return msgspec.convert(plain, Said)


def child_environment(machine: Machine) -> dict[str, str]:
    """The user's environment, less what would run code of its own; nothing is written into __pycache__.

    PYENV_DIR tells pyenv's shims from where to look for .python-version, as the child starts in "/".
    """
    env = {name: value for name, value in machine.env.items() if name not in UNWANTED}
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    if "PWD" in env:
        env.setdefault("PYENV_DIR", env["PWD"])
    return env


def is_own(machine: Machine, path: str) -> bool:
    """Whether `path` is the interpreter that runs us, with the environment and the flags of the user's `python`."""
    flags = sys.flags
    plain = not (flags.isolated or flags.ignore_environment or flags.no_site)
    users = bool(flags.no_user_site) == bool(machine.env.get("PYTHONNOUSERSITE"))
    same = os.path.dirname(path) == os.path.dirname(sys.executable or "") and _same_file(path, sys.executable)
    return machine.here and plain and users and same and _same_environment(machine)


def _same_environment(machine: Machine) -> bool:
    ours = {name: value for name, value in os.environ.items() if name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    theirs = {name: value for name, value in machine.env.items() if name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return ours == theirs


def _same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _own() -> Said:
    said = msgspec.convert(interpreter.describe(), Said)
    return _slashed(msgspec.structs.replace(said, sys_path=_without_script(said.sys_path)))


def _without_script(entries: tuple[str, ...]) -> tuple[str, ...]:
    """sys.path less the entry of the running script, or what __main__ put there, which no program of the user's has."""
    if not entries or getattr(sys.flags, "safe_path", False):
        return entries
    script = sys.argv[0] if sys.argv else ""
    folders = {os.path.dirname(os.path.realpath(script)), os.path.dirname(os.__file__)}
    ours = {"", _here(), os.path.normpath(os.path.join(_here(), os.path.dirname(script))), *folders}
    return entries[1:] if entries[0] in ours else entries


def _here() -> str:
    """The working directory; the root where it was deleted under us."""
    try:
        return os.getcwd()
    except OSError:
        return "/"


def _failure(path: str, ended: ChildResult, seconds: float) -> str | None:
    """Why there is no answer to read; None: there may be one."""
    if ended.missing:
        return f"{path} cannot be started: {ended.missing}."
    if ended.timed_out or ended.abandoned:
        return f"{path} did not respond within {seconds:.2g} seconds."
    if ended.signal:
        return f"{path} was killed by {ended.signal} at startup."
    if ended.cancelled:
        return f"{path} was not waited for."
    if ended.code:
        return f"{path} exited with code {ended.code}{_last_words(ended.err or ended.out)}."
    return None


def _last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f": {lines[-1][:300].rstrip('.')}" if lines else ", without output"


def _values(answer: bytes) -> Any:
    try:
        return msgspec.json.decode(answer)
    except msgspec.DecodeError:  # a path that is no UTF-8, which Python's JSON holds as lone surrogates
        import json

        return json.loads(answer)


def _read(path: str, ended: ChildResult) -> Said | str:
    lines = [line for line in ended.out.splitlines() if line.startswith(interpreter.MARK)]
    try:
        answer = _values(lines[-1][len(interpreter.MARK) :].encode())
        version = msgspec.convert(answer, _Version).version
        if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
            return f"{path} is Python {version}; gpudoctor supports checking Python 3.8 and newer."
        said = msgspec.convert(answer, Said)
    except (IndexError, ValueError):
        return f"{path} does not respond like a Python interpreter{_last_words(ended.out)}."
    return _slashed(msgspec.structs.replace(said, startup=max(0.0, round(ended.seconds - (said.spent or 0.0), 4))))
