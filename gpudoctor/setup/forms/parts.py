"""What the forms share: commands that ask nothing, a uv of their own, remarks, and YAML."""

import json
import shlex
from collections.abc import Iterator

import msgspec

from gpudoctor.setup.plan import Command, Plan, Step

# Where forms for other machines put uv, and the Pythons that it fetches: root's home is closed to other users.
UV = "/opt/uv"
UV_PYTHONS = "UV_PYTHON_INSTALL_DIR"
# What keeps a package manager from asking, after its name; zypper's own come apart.
_QUIET = {
    "apt-get": ("--yes",),
    "dnf": ("--assumeyes",),
    "yum": ("--assumeyes",),
    "pacman": ("--noconfirm",),
    "yay": ("--noconfirm",),
}
_ZYPPER = ("--non-interactive", "--gpg-auto-import-keys")
# A Python that uv's wheel runs on, and its packages, where it is not the release's own python3: that is 3.6 there.
_OLD = {("fedora", "8"): ("python3.11", ["python3.11"]), ("suse", "15"): ("python3.11", ["python311"])}
_PACKAGES = {
    "debian": ["python3-venv", "python3-pip"],
    "fedora": ["python3", "python3-pip"],
    "suse": ["python3", "python3-pip"],
    "arch": ["python", "python-pip"],
}


def system_python(plan: Plan) -> tuple[str, list[object]]:
    """The distribution's Python that makes environments, and the packages that bring it."""
    family, major = plan.machine.family or "", (plan.machine.release or "").partition(".")[0]
    program, names = _OLD.get((family, major), ("python3", _PACKAGES.get(family, [])))
    return program, list(names)


def unattended(argv: tuple[str, ...], sudo: bool = True) -> tuple[str, ...]:
    """The command that asks nothing.

    Args:
        argv: its words.
        sudo: keep it; else who runs it is root.
    """
    head: tuple[str, ...] = ()
    if argv[:1] == ("sudo",):
        head, argv = (("sudo",) if sudo else ()), argv[1:]
    if argv[:1] == ("zypper",):
        agreed = ("--auto-agree-with-licenses",) if argv[1:2] == ("install",) else ()
        argv = ("zypper", *_ZYPPER, *argv[1:2], *agreed, *argv[2:])
    elif argv and argv[0] in _QUIET and argv[1:] and argv[1] not in ("update", "makecache"):
        argv = (argv[0], *_QUIET[argv[0]], *argv[1:])
    return (*head, *argv)


def quiet(plan: Plan) -> Plan:
    """The plan with commands that ask nothing, for who has said yes to all of it."""
    steps = tuple(msgspec.structs.replace(s, commands=tuple(_quiet(c) for c in s.commands)) for s in plan.steps)
    return msgspec.structs.replace(plan, steps=steps)


def _quiet(command: Command) -> Command:
    argv = unattended(command.argv)
    return command if argv == command.argv else Command(shlex.join(argv), argv)


def line(command: Command, sudo: bool = True) -> str:
    """The command as a line of a shell script that asks nothing."""
    if command.argv:
        return shlex.join(unattended(command.argv, sudo))
    return command.shown if sudo else command.shown.replace("sudo ", "")


def isolated(command: Command) -> Command:
    """The command with a Python that imports nothing from the working directory, where `-m` looks first.

    -P would do, but only Python 3.11 and later have it; -I is of 3.4, and leaves PYTHONPATH out as well.
    """
    for at, word in enumerate(command.argv[1:3], 1):
        if word == "-m" and command.argv[at - 1].rpartition("/")[2].startswith(("python", "pypy")):
            argv = (*command.argv[:at], "-I", *command.argv[at:])
            return Command(shlex.join(argv), argv)
    return command


def uses_uv(plan: Plan) -> bool:
    """Whether a step of the plan runs uv from PATH."""
    return any(c.argv[:1] == ("uv",) for s in plan.steps for c in s.commands)


def with_own_uv(command: Command) -> Command:
    """The command with the form's own uv."""
    if command.argv[:1] != ("uv",):
        return command
    argv = (f"{UV}/bin/uv", *command.argv[1:])
    return Command(shlex.join(argv), argv)


def bring_uv(plan: Plan) -> tuple[Command, ...]:
    """The commands that bring uv by the system's Python, from the package index."""
    program, _ = system_python(plan)
    return tuple(
        Command(shlex.join(argv), argv)
        for argv in (
            (program, "-m", "venv", UV),
            (f"{UV}/bin/python", "-m", "pip", "install", "uv"),
        )
    )


def of_group(plan: Plan, *groups: str) -> tuple[Step, ...]:
    """The steps of these groups."""
    return tuple(s for s in plan.steps if s.group in groups)


def remarks(text: str, width: int = 100) -> list[str]:
    """A text as remarks: lines that begin with #."""
    import textwrap

    from gpudoctor.report.clean import clean

    found: list[str] = []
    for paragraph in clean(text).splitlines():
        found += [f"# {piece}" for piece in textwrap.wrap(paragraph, width - 2)] or ["#"]
    return found


def head(plan: Plan, what: str) -> list[str]:
    """The remarks on top: what it is, for which machine, and what is not in it."""
    machine = plan.machine
    gpus = ", ".join(dict.fromkeys(machine.gpus)) or "no GPU that computes"
    found = remarks(f"{what}, made by gpudoctor {plan.version} for: {machine.system or 'Linux'}, {gpus}.")
    for refused in plan.refused:
        found += remarks(f"Not in it: {refused.wish}. {refused.why} {refused.instead}")
    return found


def yaml(value: object, indent: int = 0) -> Iterator[str]:
    """A value as lines of YAML; each string is quoted as JSON does, which YAML 1.2 reads alike."""
    pad = " " * indent
    if isinstance(value, dict):
        for key, one in value.items():
            if isinstance(one, (dict, list)) and one:
                yield f"{pad}{key}:"
                yield from yaml(one, indent + 2)
            else:
                yield f"{pad}{key}: {_plain(one)}"
    elif isinstance(value, list):
        for one in value:
            if isinstance(one, dict) and one:
                first, *rest = yaml(one, indent + 2)
                yield f"{pad}- {first.lstrip()}"
                yield from rest
            elif isinstance(one, list):
                yield f"{pad}- {_plain(one)}"
            else:
                yield f"{pad}- {_plain(one)}"


def _plain(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
