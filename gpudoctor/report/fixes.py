"""Fixes in the report: worded for this machine and this user, and what is noted next to them."""

from collections.abc import Sequence
from itertools import zip_longest

import msgspec

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.facts.text_types import not_run
from gpudoctor.fixes.cluster import with_drain
from gpudoctor.fixes.host_steps import on_the_host
from gpudoctor.report.model import FixEntry
from gpudoctor.targets import has_rocm
from gpudoctor.tasks import Command, Edit, Task, Tasks, Variable, can_run, ends_sessions, is_lookup
from gpudoctor.tasks.as_typed import in_powershell, is_of_windows, language, shown

DESTROYS = ("irreversible", "data loss")


def entry(fix: Fix, facts: Facts) -> FixEntry:
    """The fix as this user types it: root asks no sudo, and where there is no sudo nobody can."""
    fix = with_drain(on_the_host(fix, facts), facts)
    user, outside = facts.host.user, fix.place == "outside"
    is_root = user.uid == 0 and not outside
    sudo = outside or not (is_root or user.sudo is False)

    def worded(task: Task) -> str:
        return in_powershell(task) if facts.host.system == "Windows" else shown(task, sudo)

    return FixEntry(
        fix.message,
        tuple(map(worded, fix.tasks)),
        fix.action,
        fix.asks_root,
        fix.needs,
        fix.impact,
        "; ".join(map(worded, fix.undo)) or None,
        worded(fix.verify) if fix.verify else None,
        fix.place,
        is_root,
        fix.tasks,
        fix.undo,
        fix.verify,
        fix.later,
    )


def entries(fixes: tuple[Fix, ...], facts: Facts) -> tuple[FixEntry, ...]:
    """All fixes of a finding, each once."""
    return tuple(dict.fromkeys(entry(fix, facts) for fix in fixes))


def can_carry(tasks: Tasks, place: str) -> bool:
    """Whether a program can do all of it here, and whether it changes anything."""
    return place == "here" and all(map(can_run, tasks)) and not all(map(is_lookup, tasks))


def run_line(id_: str, fixes: tuple[FixEntry, ...], facts: Facts) -> str:
    """The command of ours that carries out the first fix that is possible here; empty where a person has to type it."""
    if facts.host.system == "Windows":
        return ""
    if not_run(facts.nvidia.nvml.code):  # --root: `gpudoctor fix` would act on the system that it runs in
        return ""
    no_root = facts.host.user.sudo is False and facts.host.user.uid != 0
    for number, fix in enumerate(fixes, 1):
        if fix.later or (fix.root and no_root) or _lacks_nvcc(fix.tasks, facts):
            continue
        if number > 1 and (fix.message.startswith("If ") or fix.impact in DESTROYS):  # the better way is typed
            continue
        if not can_carry(fix.tasks, fix.place):
            if fix.place == "here" and all(isinstance(one, Variable) for one in fix.tasks) and fix.tasks:
                return ""  # what is typed into one's own shell is the better way
            continue
        choice = f" --choice {number}" if number > 1 else ""
        root = " --with-root" if fix.root and not fix.as_root else ""
        return f"gpudoctor fix {id_}{choice}{root}{' --reboot' if all(map(ends_sessions, fix.tasks)) else ''}"
    return ""


def _lacks_nvcc(tasks: Tasks, facts: Facts) -> bool:
    """Whether an extension would be compiled for NVIDIA's GPUs on a machine without nvcc."""
    builds = any(isinstance(one, Command) and "--no-build-isolation" in one.argv for one in tasks)
    return builds and facts.toolkits.nvccs == () and facts.toolkits.home.nvcc is None and not has_rocm(facts)


class TypedBlock(msgspec.Struct, frozen=True):
    """What is typed in one go.

    Attributes:
        language: as Markdown names it: sh, powershell, yaml, toml ...
        path: the file whose lines these are; empty: they are commands, or lines for a file of another name.
        lines: each of one line or more.
    """

    language: str
    path: str
    lines: tuple[str, ...]


def blocks(commands: Sequence[str], tasks: Sequence[Task | None]) -> list[TypedBlock]:
    """The commands of a fix, cut where the language changes: a shell takes no YAML.

    Args:
        commands: of a fix.
        tasks: the same as data; fewer where only the text is known.
    """
    found: list[TypedBlock] = []
    pairs = list(zip_longest(commands, tasks[: len(commands)]))
    shell = "powershell" if any(is_of_windows(task, command) for command, task in pairs) else "sh"
    for command, task in pairs:
        name, path = language(task, command), ""
        name = shell if name == "sh" else name
        if isinstance(task, Edit) and task.sections:
            first, _, command = command.partition("\n")
            path = first.removeprefix("# in ").removesuffix(":")
        if found and (found[-1].language, found[-1].path) == (name, path) and name in ("sh", "powershell", "python"):
            found[-1] = msgspec.structs.replace(found[-1], lines=(*found[-1].lines, command))
        else:
            found.append(TypedBlock(name, path, (command,)))
    return found


def label(fix: FixEntry, place: int) -> str:
    """What a fix is called next to those before it.

    Args:
        fix: the fix.
        place: how many are before it.
    """
    return "later" if fix.later else "fix" if not place else "then" if fix.message.startswith("Then ") else "or"


def verifications(fixes: tuple[FixEntry, ...]) -> list[str]:
    """The command that verifies each fix; empty where it is one of its own, or the same as of the next: shown there."""
    found: list[str] = []
    following = ""
    for fix in reversed(fixes):
        own = fix.verify if fix.verify and fix.verify not in fix.commands else ""
        found.append("" if own == following else own)
        following = own
    return found[::-1]


def what_follows(needs: str) -> str:
    """What a fix needs afterwards, as part of a sentence: "a reboot", "a restart of Docker and new containers"."""
    needs = {"relogin": "new login", "log out and in": "new login"}.get(needs, needs)
    return f"a {needs}" if needs.startswith(("reboot", "restart", "power cycle", "new login")) else needs


def notes(fix: FixEntry) -> list[str]:
    """What has to be known next to the commands."""
    found = ["root"] if fix.root and not fix.as_root else []
    if fix.needs and not any(fix.needs in command for command in fix.commands):
        found.append(what_follows(fix.needs))
    found = [f"needs {' and '.join(found)}"] if found else []
    if fix.impact in DESTROYS:
        found.append(f"careful: {fix.impact}")
    return found
