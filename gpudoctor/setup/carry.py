"""Carries steps out, one after another, each noted in the journal; the first that fails ends it."""

import os
import time
from collections.abc import Callable, Sequence

import msgspec

from gpudoctor.setup.commands import needs_root
from gpudoctor.setup.journal import Journal
from gpudoctor.setup.plan import Command, File, Plan, Step

# Runs a command, shown to the user as it runs, and gives its exit code.
Run = Callable[[tuple[str, ...]], int]
Tell = Callable[[str], None]


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How it went: the ids of the steps that were done, and the step and command that failed with which code."""

    done: tuple[str, ...] = ()
    failed: Step | None = None
    command: str = ""
    code: int = 0


def runnable(step: Step, root: bool) -> bool:
    """Whether all of a step can be run from here, without a shell, and without root where that was not allowed."""
    if not step.commands and not step.files:
        return False
    asks = step.root or any(needs_root(c) for c in step.commands)
    return all(c.argv for c in step.commands) and (root or not asks)


def sorted_out(plan: Plan, root: bool) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """The steps that are run from here, and those that a person has to do.

    What changes the machine itself waits for a person unless root was allowed; the proof waits for what it proves.
    """
    mine: list[Step] = []
    theirs: list[Step] = []
    for step in plan.steps:
        waits = step.group == "proof" and any(s.group == "driver" for s in theirs)
        own = runnable(step, root) and not waits
        (mine if own else theirs).append(step)
        if own and step.reboot:
            break
    rest = [s for s in plan.steps if s not in mine and s not in theirs]
    return tuple(mine), (*theirs, *rest)


def carry(steps: Sequence[Step], run: Run, journal: Journal, tell: Tell, what: str, verify: bool = True) -> Ended:
    """Carry steps out.

    Args:
        steps: those that `runnable` allows.
        run: runs one command.
        journal: what is done is noted there.
        tell: is told each step and command before it runs.
        what: what the journal calls it.
        verify: whether a step has failed where its own verification does.

    Raises:
        JournalError: the journal cannot be written; then nothing more is run.
    """
    journal.write("begin", what=what)
    done: list[str] = []
    for step in steps:
        tell(f"{step.title}")
        ended = _step(step, run, journal, tell, verify)
        if ended is not None:
            journal.write("end", outcome="failed")
            return msgspec.structs.replace(ended, done=tuple(done))
        done.append(step.id)
    journal.write("end", outcome="done")
    return Ended(done=tuple(done))


def _step(step: Step, run: Run, journal: Journal, tell: Tell, verify: bool) -> Ended | None:
    """Do one step; None: it has worked. Its way back is noted before it begins: half of it may be done."""
    words = tuple(c.argv for c in step.undo if c.argv)
    journal.write("step", step=step.id, undo=words, by_hand=tuple(c.shown for c in step.undo if not c.argv))
    for file in step.files:
        tell(f"$ write {file.path}")
        error = _write(file)
        journal.write("file", step=step.id, path=file.path, code=1 if error else 0)
        if error:
            return Ended(failed=step, command=f"write {file.path}: {error}", code=1)
    proofs = step.verify if verify and not step.reboot else ()  # what a restart brings is not there before it
    for command in (*step.commands, *proofs):
        if command.argv and (code := _command(step, command, run, journal, tell)):
            return Ended(failed=step, command=command.shown, code=code)
    return None


def _command(step: Step, command: Command, run: Run, journal: Journal, tell: Tell) -> int:
    tell(f"$ {command.shown}")
    begun = time.monotonic()
    code = run(command.argv)
    seconds = round(time.monotonic() - begun, 1)
    journal.write("command", step=step.id, argv=command.argv, code=code, seconds=seconds)
    return code


def _write(file: File) -> str | None:
    """Write a file that is not there yet; why it cannot be, or None."""
    try:
        os.makedirs(os.path.dirname(file.path), exist_ok=True)
        with open(file.path, "x", encoding="utf-8") as out:
            out.write(file.text)
    except OSError as error:
        return error.strerror or str(error)
    return None
