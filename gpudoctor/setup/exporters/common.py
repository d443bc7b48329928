"""What the forms share: commands that ask nothing, a uv of their own, remarks, and YAML."""

import json
from collections.abc import Iterator

import msgspec

from gpudoctor.setup.plan import Plan, SetupStep
from gpudoctor.tasks import Command, Manual, Pipe, Task, cmd
from gpudoctor.tasks.as_typed import shown

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


def unattended(task: Task) -> Task:
    """The task with commands that ask nothing."""
    if isinstance(task, Pipe):
        return msgspec.structs.replace(task, stages=tuple(map(_unattended, task.stages)))
    return _unattended(task) if isinstance(task, Command) else task


def _unattended(command: Command) -> Command:
    program, *words = command.argv
    if program == "zypper":
        agreed = ("--auto-agree-with-licenses",) if words[:1] == ["install"] else ()
        words = [*_ZYPPER, *words[:1], *agreed, *words[1:]]
    elif program == "conda":
        words = [*words[:1], "--yes", *words[1:]] if "--yes" not in words else words
    elif program in _QUIET and words and words[0] not in ("update", "makecache"):
        words = [*_QUIET[program], *words]
    return msgspec.structs.replace(command, argv=(program, *words))


def quiet(plan: Plan) -> Plan:
    """The plan with commands that ask nothing, for who has said yes to all of it."""
    steps = tuple(msgspec.structs.replace(s, commands=tuple(map(unattended, s.commands))) for s in plan.steps)
    return msgspec.structs.replace(plan, steps=steps)


def line(task: Task, sudo: bool = True) -> str:
    """The task as a line of a shell script that asks nothing; what a person has to do is a remark."""
    if isinstance(task, Manual):
        return "\n".join(("# By hand:", *(f"# {one}" for one in task.text.splitlines())))
    return shown(unattended(task), sudo)


def isolated(task: Task) -> Task:
    """The task with a Python that imports nothing from the working directory, where `-m` looks first.

    -P would do, but only Python 3.11 and later have it; -I is of 3.4, and leaves PYTHONPATH out as well.
    """
    if isinstance(task, Command):
        for at, word in enumerate(task.argv[1:3], 1):
            if word == "-m" and task.argv[at - 1].rpartition("/")[2].startswith(("python", "pypy")):
                return msgspec.structs.replace(task, argv=(*task.argv[:at], "-I", *task.argv[at:]))
    return task


def uses_uv(plan: Plan) -> bool:
    """Whether a step of the plan runs uv from PATH."""
    return any(_is_uv(c) for s in plan.steps for c in s.commands)


def _is_uv(task: Task) -> bool:
    return isinstance(task, Command) and task.argv[0] == "uv"


def with_own_uv(task: Task, env: bool = True) -> Task:
    """The task with the form's own uv.

    Args:
        task: the task.
        env: say next to it where the Pythons go that it fetches.
    """
    if not isinstance(task, Command) or not _is_uv(task):
        return task
    argv = (f"{UV}/bin/uv", *task.argv[1:])
    return msgspec.structs.replace(task, argv=argv, env=((UV_PYTHONS, f"{UV}/python"),) if env else ())


def bring_uv(plan: Plan) -> tuple[Command, ...]:
    """The commands that bring uv by the system's Python, from the package index."""
    program, _ = system_python(plan)
    return (cmd(program, "-m", "venv", UV), cmd(f"{UV}/bin/python", "-m", "pip", "install", "uv"))


def of_group(plan: Plan, *groups: str) -> tuple[SetupStep, ...]:
    """The steps of these groups."""
    return tuple(s for s in plan.steps if s.group in groups)


def remarks(text: str, width: int = 100) -> list[str]:
    """A text as remarks: lines that begin with #."""
    import textwrap

    from gpudoctor.report.sanitize import clean

    found: list[str] = []
    for paragraph in clean(text).splitlines():
        found += [f"# {piece}" for piece in textwrap.wrap(paragraph, width - 2)] or ["#"]
    return found


def head(plan: Plan, what: str) -> list[str]:
    """The remarks on top: what it is, for which machine, and what is not in it."""
    machine = plan.machine
    gpus = ", ".join(dict.fromkeys(machine.gpus)) or "no compute GPU"
    found = remarks(f"{what}, made by gpudoctor {plan.version} for: {machine.system or 'Linux'}, {gpus}.")
    for refused in plan.refused:
        found += remarks(f"Not in it: {refused.requested}. {refused.why} {refused.instead}")
    for note in plan.notes:
        found += remarks(f"Note: {note}")
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
