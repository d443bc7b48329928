"""Fixes in the report: worded for this machine and this user, and what is noted next to them."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.report.model import FixEntry
from gpudoctor.tasks import Task, Tasks, can_run, is_lookup
from gpudoctor.tasks.as_typed import in_powershell, shown


def entry(fix: Fix, facts: Facts) -> FixEntry:
    """The fix as this user types it: root asks no sudo, and where there is no sudo nobody can."""
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
    """The command of ours that carries out the first fix that can be carried out; empty where none can."""
    if facts.host.system == "Windows":
        return ""
    no_root = facts.host.user.sudo is False and facts.host.user.uid != 0
    for number, fix in enumerate(fixes, 1):
        if not fix.later and can_carry(fix.tasks, fix.place) and not (fix.root and no_root):
            choice = f" --choice {number}" if number > 1 else ""
            return f"gpudoctor fix {id_}{choice}{' --with-root' if fix.root and not fix.as_root else ''}"
    return ""


def label(fix: FixEntry, place: int) -> str:
    """What a fix is called next to those before it.

    Args:
        fix: the fix.
        place: how many are before it.
    """
    return "later" if fix.later else "or" if place else "fix"


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
    if fix.impact in ("irreversible", "data loss"):
        found.append(f"careful: {fix.impact}")
    return found
