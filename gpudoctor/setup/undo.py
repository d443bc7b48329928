"""The way back of a run, out of what the journal holds of it."""

from collections.abc import Sequence
from typing import cast

from gpudoctor.fixes.pip import Installer
from gpudoctor.setup.installed_packages import Ask, back
from gpudoctor.setup.journal import JournalEntry
from gpudoctor.setup.plan import SetupStep
from gpudoctor.tasks import Command, Edit, Task, Tasks, can_run
from gpudoctor.tasks.as_typed import shown


def step(entries: Sequence[JournalEntry], ask: Ask) -> tuple[SetupStep, tuple[str, ...]]:
    """The step that takes a run back, its last step first, and what only a person can do.

    Files get their former text and packages their former versions; a fix's own way back does the rest.

    Args:
        entries: the journal's lines of the run.
        ask: says what is installed in an environment now.
    """
    tasks: list[Task] = []
    by_hand: list[str] = []
    restored = {entry.path for entry in entries if entry.event in ("edit", "packages")}
    for entry in reversed(entries):
        if entry.event == "edit":
            text = None if entry.before is None else entry.before.decode("utf-8", "surrogateescape")
            tasks.append(Edit(entry.path, text=text, gone=text is None, root=entry.root))
        elif entry.event == "packages":
            tasks += _packages(entry, ask)
        elif entry.event == "step":
            own = [task for task in entry.undo if not _is_covered(task, restored)]
            tasks += [task for task in own if can_run(task)]
            by_hand += [shown(task) for task in own if not can_run(task)]
    made = SetupStep(id="undo", group="environment", title="Undo.", why="", commands=tuple(tasks))
    return made, tuple(by_hand)


def _packages(entry: JournalEntry, ask: Ask) -> Tasks:
    now = ask(entry.path)
    if now is None:
        return ()
    return back(cast("Installer", entry.installer), entry.path, entry.options, entry.installed, now)


def _is_covered(task: Task, restored: set[str]) -> bool:
    """Whether what a task takes back is restored out of the journal."""
    if isinstance(task, Edit):
        return task.path in restored
    return isinstance(task, Command) and task.packages is not None and task.packages.python in restored
