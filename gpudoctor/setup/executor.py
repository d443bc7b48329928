"""Carries steps out, one after another, each noted in the journal; the first that fails ends it."""

import os
import tempfile
import time
from collections.abc import Callable, Sequence

import msgspec

from gpudoctor.knowledge.packages import finish_commands, refresh_command
from gpudoctor.setup.installed_packages import Ask, Installed, resolves
from gpudoctor.setup.journal import Journal, directory
from gpudoctor.setup.plan import Plan, SetupStep
from gpudoctor.tasks import Command, Edit, PackageChange, Task, can_run, ends_sessions, is_lookup, needs_root
from gpudoctor.tasks.as_typed import shown
from gpudoctor.tasks.edits import EditError, edited

# Runs a command, shown to the user as it runs, and gives its exit code.
Run = Callable[[tuple[str, ...]], int]
Tell = Callable[[str], None]

# Commands that may fail without harm to those after them, and what is said then.
_MAY_FAIL = {
    # It ends with 100 over a single dead source, also one that the next command does not use.
    refresh_command("debian").argv: "One of apt's sources failed (above). The others are up to date, so the next "
    "command is tried.",
    # It fetches nothing: a package whose dependencies were never unpacked waits for apt, which the next command asks.
    finish_commands()[0].argv: "dpkg could not finish all of them (above). The next command lets apt bring what "
    "they lack.",
}
_TEXT = ("utf-8", "surrogateescape")  # a file's bytes as a text that loses none of them


class Did(msgspec.Struct, frozen=True):
    """One command that has ended.

    Attributes:
        shown: the command.
        code: its exit code.
        lookup: whether it only looked.
    """

    shown: str
    code: int
    lookup: bool = False


class ExecutionResult(msgspec.Struct, frozen=True, kw_only=True):
    """How it went.

    Attributes:
        done: the ids of the steps that were done.
        did: the commands that were run, in their order.
        failed: the step that failed; None: none.
        why: what failed, a sentence; empty: the last command did.
        left: the reboot with which a step ends, and what comes after it: never run from here.
        resolved: whether what the failed step installs can be had; where it cannot, nothing of it was done.
    """

    done: tuple[str, ...] = ()
    did: tuple[Did, ...] = ()
    failed: SetupStep | None = None
    why: str = ""
    left: tuple[Task, ...] = ()
    resolved: bool = True

    @property
    def changed(self) -> tuple[str, ...]:
        """The commands that have changed something."""
        return tuple(one.shown for one in self.did if not one.lookup and one.code == 0)


def nobody(_python: str) -> tuple[Installed, ...] | None:
    """Asks no interpreter."""
    return None


def runnable(step: SetupStep, root: bool) -> bool:
    """Whether all of a step can be run from here, and without root where that was not allowed."""
    if not step.commands and not step.files:
        return False
    return all(map(can_run, step.commands)) and (root or is_root() or not step.asks_root)


def is_root() -> bool:
    """Whether we are root, who asks nobody."""
    return os.geteuid() == 0


def sorted_out(plan: Plan, root: bool) -> tuple[tuple[SetupStep, ...], tuple[SetupStep, ...]]:
    """The steps that are run from here, and those that a person has to do.

    What changes the machine itself waits for a person unless root was allowed; the proof waits for what it proves.
    """
    mine: list[SetupStep] = []
    theirs: list[SetupStep] = []
    for step in plan.steps:
        waits = step.group == "proof" and any(s.group == "driver" for s in theirs)
        own = runnable(step, root) and not waits
        (mine if own else theirs).append(step)
        if own and step.reboot:
            break
    rest = [s for s in plan.steps if s not in mine and s not in theirs]
    return tuple(mine), (*theirs, *rest)


def carry(
    steps: Sequence[SetupStep],
    run: Run,
    journal: Journal,
    tell: Tell,
    what: str,
    verify: bool = True,
    ask: Ask = nobody,
) -> ExecutionResult:
    """Carry steps out.

    Args:
        steps: those that `runnable` allows.
        run: runs one command.
        journal: what is done is noted there.
        tell: is told each step and command before it runs.
        what: what the journal calls it.
        verify: whether a step has failed where its own verification does.
        ask: says what is installed in an environment.

    Raises:
        JournalError: the journal cannot be written; then nothing more is run.
    """
    journal.write("begin", what=what, path=directory())
    one = _Carrier(run, journal, tell, ask, {p.python for s in steps for p in _changed(s) if os.path.exists(p.python)})
    done: list[str] = []
    for step in steps:
        tell(f"{step.title}")
        failed = one.step(step, verify)
        if failed is not None:
            journal.write("end", outcome="failed")
            return msgspec.structs.replace(failed, done=tuple(done), did=tuple(one.did))
        done.append(step.id)
    journal.write("end", outcome="done")
    return ExecutionResult(done=tuple(done), did=tuple(one.did), left=tuple(one.left))


class _Carrier:
    """One run: who runs commands, and what was run so far."""

    def __init__(self, run: Run, journal: Journal, tell: Tell, ask: Ask, there: set[str]) -> None:
        self.run, self.journal, self.tell, self.ask = run, journal, tell, ask
        self.there = there  # environments that have something to lose
        self.did: list[Did] = []
        self.left: list[Task] = []
        self.noted: set[str] = set()  # environments whose packages are in the journal

    def step(self, step: SetupStep, verify: bool) -> ExecutionResult | None:
        """Do one step; None: it has worked. Its way back is noted before it begins: half of it may be done."""
        if failed := self._resolve(step):
            return failed
        self.journal.write("step", step=step.id, undo=step.undo)
        self._note(step)
        for file in step.files:
            self.tell(f"$ write {file.path}")
            error = _write(file)
            self.journal.write("file", step=step.id, path=file.path, code=1 if error else 0)
            if error:
                return ExecutionResult(failed=step, why=f"{file.path} cannot be written: {error}.")
        proofs = step.verify if verify and not step.reboot else ()  # what a restart brings is not there before it
        at = next((n for n, task in enumerate(step.commands) if ends_sessions(task)), len(step.commands))
        self.left += step.commands[at:]
        for task in (*step.commands[:at], *proofs):
            counts = task in proofs or not is_lookup(task)
            if not can_run(task) or (why := self._task(step, task)) is None:
                continue
            if isinstance(task, Command) and task.argv in _MAY_FAIL:
                self.tell(_MAY_FAIL[task.argv])
            elif counts:
                return ExecutionResult(failed=step, why=why)
        return None

    def _resolve(self, step: SetupStep) -> ExecutionResult | None:
        """Ask the installer whether it can have all that it is to install, before anything is changed."""
        for packages in _changed(step):
            if not packages.resolve or packages.python not in self.there:
                continue
            there = self.ask(packages.python) if packages.installer == "pip" else None
            if there is not None and not any(one.key == "pip" for one in there):
                python = packages.python
                why = (
                    f"{python} has no pip. Run `{python} -m ensurepip --upgrade` first, or install it with uv "
                    f"(`uv pip install --python {python} pip`)."
                )
                return ExecutionResult(failed=step, why=why)
            if there is not None and not resolves(there):
                self.tell("This pip is too old for a dry run.")
                continue
            code = self._run(step, packages.resolve, f"{shown(Command(packages.resolve))}", lookup=True)
            if code:
                return ExecutionResult(failed=step, resolved=False)
        return None

    def _note(self, step: SetupStep) -> None:
        """What is installed before the first change of an environment."""
        for packages in _changed(step):
            if packages.python in self.noted or packages.python not in self.there:
                continue
            if (there := self.ask(packages.python)) is None:
                continue
            self.noted.add(packages.python)
            words = {word for c in step.commands if isinstance(c, Command) for word in c.argv}
            options = tuple({"--break-system-packages"} & words)
            self.journal.write(
                "packages",
                step=step.id,
                path=packages.python,
                installer=packages.installer,
                options=options,
                installed=there,
            )

    def _task(self, step: SetupStep, task: Task) -> str | None:
        """Do one task; None: it has worked, else why not, where its exit code does not say so."""
        if isinstance(task, Edit):
            return self._edit(step, task)
        asks = needs_root(task) and not is_root()
        code = self._run(step, argv_of(task, asks), shown(task, asks), is_lookup(task))
        return "" if code else None

    def _run(self, step: SetupStep, argv: tuple[str, ...], text: str, lookup: bool) -> int:
        self.tell(f"$ {text}")
        begun = time.monotonic()
        code = self.run(argv)
        seconds = round(time.monotonic() - begun, 1)
        self.journal.write("command", step=step.id, argv=argv, code=code, seconds=seconds)
        self.did.append(Did(text, code, lookup))
        return code

    def _edit(self, step: SetupStep, edit: Edit) -> str | None:
        """Change a file; what was in it goes into the journal first."""
        asks, path = edit.root and not is_root(), os.path.expanduser(edit.path)
        text = shown(edit, asks)
        try:
            before = _read(path)
            after = edited(edit, None if before is None else before.decode(*_TEXT))
        except (EditError, OSError) as error:
            return str(error) if isinstance(error, EditError) else f"{path} cannot be read: {error.strerror or error}."
        if not path.startswith(("/sys/", "/proc/")):  # whose files are switches: what is read is not what is written
            self.journal.write("edit", step=step.id, path=path, before=before, root=edit.root)
        if asks:
            return "" if self._as_root(step, path, text, before, after) else None
        self.tell(f"$ {text}")
        why = _change(path, after)
        self.did.append(Did(text, 1 if why else 0))
        return f"{path} cannot be written: {why}." if why else None

    def _as_root(self, step: SetupStep, path: str, text: str, before: bytes | None, after: str | None) -> int:
        """Write a file by sudo, out of one of ours: an existing one keeps its owner and mode."""
        if after is None:
            return self._run(step, ("sudo", "rm", path), text, lookup=False)
        with tempfile.NamedTemporaryFile("wb") as made:
            made.write(after.encode(*_TEXT))
            made.flush()
            copy = ("sudo", "cp", made.name, path)
            new = ("sudo", "install", "-D", "-m", "0644", made.name, path)
            return self._run(step, new if before is None else copy, text, lookup=False)


def argv_of(task: Task, sudo: bool) -> tuple[str, ...]:
    """The words by which a program is started for a task: itself, or a shell for a line that needs one."""
    if isinstance(task, Command):
        env = ("env", *(f"{name}={value}" for name, value in task.env)) if task.env else ()
        words = tuple(os.path.expanduser(word) if word.startswith("~/") else word for word in task.argv)
        return (*(("sudo",) if task.root and sudo else ()), *env, *words)
    return ("sh", "-c", shown(task, sudo))


def _changed(step: SetupStep) -> tuple[PackageChange, ...]:
    """Of each command of a step that changes an environment, which one and by whom."""
    return tuple(c.packages for c in step.commands if isinstance(c, Command) and c.packages)


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _change(path: str, text: str | None) -> str | None:
    """Give a file another text, or take it away; why it cannot be done, or None."""
    try:
        if text is None:
            if os.path.lexists(path):
                os.unlink(path)
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(text.encode(*_TEXT))
    except OSError as error:
        return error.strerror or str(error)
    return None


def _write(file: Edit) -> str | None:
    """Write a file that is not there yet; why it cannot be, or None."""
    try:
        os.makedirs(os.path.dirname(file.path), exist_ok=True)
        with open(file.path, "x", encoding="utf-8") as out:
            out.write(file.text or "")
    except OSError as error:
        return error.strerror or str(error)
    return None
