"""Which command of ours runs the fix of the selected finding, and why none can be run."""

from __future__ import annotations

from gpudoctor.report.fixes import can_carry, what_follows
from gpudoctor.report.model import FixEntry
from gpudoctor.tasks import ends_sessions
from gpudoctor.tui.diagnosis.items import Item
from gpudoctor.tui.session import Session

DECLINED = 5  # exit code of `gpudoctor fix`: nothing was run
UNDO = ("fix", "--undo", "--with-root")  # it shows the commands, with sudo where they need it, and asks


def unable(session: Session) -> str:
    """Why no fix can be run or undone in this session, in a sentence; empty: it can."""
    source = session.source
    if not source.live:
        return source.recorded
    if source.command is None:
        return "Only in a terminal on the machine itself: run `gpudoctor fix` there."
    return "The probes are still running: try again when they have finished." if session.running else ""


def why_not(session: Session, item: Item | None, choice: int) -> str:
    """Why the fix cannot be run, in a sentence; empty: it can.

    Args:
        session: the model.
        item: what is selected.
        choice: which fix of it, from 0.
    """
    if reason := unable(session):
        return reason
    if item is None or item.finding is None:
        return "Select a finding first."
    if item.follows:
        return f"This is a consequence of: {item.finding.title}. Select that finding."
    if choice >= len(item.finding.fixes) or not item.finding.fixes[choice].tasks:
        return "This finding has no commands to run."
    fix = item.finding.fixes[choice]
    if fix.place == "outside":
        return "This must be done outside, where the container or job is started."
    if not can_carry(fix.tasks, fix.place):
        return "These commands need editing or your own shell: c copies them."
    first = next((one for one in session.report.findings if one.check == item.check), None) if session.report else None
    if first and first.subject != item.finding.subject:
        return f"`gpudoctor fix` starts with {first.subject}: fix that first."
    return ""


def words(session: Session, check: str, fix: FixEntry, choice: int) -> tuple[str, ...]:
    """The words of the command that shows the fix, asks, runs it and checks again.

    Args:
        session: the model.
        check: the finding's id.
        fix: which one.
        choice: its place among the finding's fixes, from 0.
    """
    options = session.source.options
    pythons = tuple(word for python in options.pythons for word in ("--python", python))
    root = ("--with-root",) if fix.root and not fix.as_root else ()
    reboot = ("--reboot",) if fix.tasks and all(map(ends_sessions, fix.tasks)) else ()
    quick = ("--quick",) if options.quick else ()
    more = (*root, *reboot, *quick, *pythons, "--no-expect")  # as it was checked here
    return ("fix", check, "--choice", str(choice + 1), *more)


def afterwards(fix: FixEntry) -> str:
    """What to know once the fix has run."""
    return f"{f'It takes effect after {what_follows(fix.needs)}. ' if fix.needs else ''}U undoes the fix."
