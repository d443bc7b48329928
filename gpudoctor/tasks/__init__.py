"""What somebody does on a machine, as data: a command, an edit of a file, a variable, or something to do by hand.

Fixes and set-up plans are made of tasks. `shown` writes one as it is typed; what runs them, undoes them or writes them
for other tools reads the same fields, so that nothing is ever taken out of a string again.
"""

from typing import Literal

import msgspec

# What a person has to do somewhere else than in a shell on this machine.
Where = Literal[
    "here",  # on this machine, in the words of the text
    "configuration",  # lines for a file whose other lines only its owner knows
    "program",  # lines of the user's own program
    "PowerShell",  # in Windows, outside of WSL
]


class Placeholder(msgspec.Struct, frozen=True):
    """A word that the user fills in.

    Attributes:
        name: as it stands in the command: "POD".
        means: what to put there.
    """

    name: str
    means: str


class PackageChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """Says of a command that it changes the Python packages of an environment.

    Attributes:
        python: the environment's interpreter.
        installer: who installs.
        resolve: the words of the command that shows, without a change, whether it can be done; none: it removes, or
            another command's words show it.
    """

    python: str
    installer: Literal["pip", "uv"]
    resolve: tuple[str, ...] = ()


class Command(msgspec.Struct, frozen=True, tag_field="kind", tag="command", omit_defaults=True):
    """A program and its words, without a shell.

    Attributes:
        argv: the words; one that begins with ~/ lies in the user's home.
        root: whether it needs root.
        lookup: whether it only looks: its exit code then says what it found, and fails nothing.
        placeholders: what the user has to fill in.
        env: variables for this command alone.
        packages: whose packages it changes.
        note: a sentence with which the text of its fix ends. zsh at a terminal takes no remark behind a
            command (INTERACTIVE_COMMENTS is off).
        person: whether only a person can run it: it opens an editor, or a shell on another machine.
    """

    argv: tuple[str, ...]
    root: bool = False
    lookup: bool = False
    placeholders: tuple[Placeholder, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    packages: PackageChange | None = None
    note: str = ""
    person: bool = False


class Pipe(msgspec.Struct, frozen=True, tag_field="kind", tag="pipe", omit_defaults=True):
    """Commands, each of which reads what the one before it writes."""

    stages: tuple[Command, ...]
    lookup: bool = False

    @property
    def root(self) -> bool:
        """Whether one of them needs root."""
        return any(stage.root for stage in self.stages)

    @property
    def placeholders(self) -> tuple[Placeholder, ...]:
        """What the user has to fill in."""
        return tuple(blank for stage in self.stages for blank in stage.placeholders)


class Shell(msgspec.Struct, frozen=True, tag_field="kind", tag="shell", omit_defaults=True):
    """A line that only a POSIX shell understands: patterns of file names, variables, substitutions.

    Attributes:
        line: the line, without sudo.
        root: whether it needs root; then it is one command, without operators.
        lookup: as of a command.
        placeholders: as of a command.
        note: as of a command.
    """

    line: str
    root: bool = False
    lookup: bool = False
    placeholders: tuple[Placeholder, ...] = ()
    note: str = ""


class Variable(msgspec.Struct, frozen=True, tag_field="kind", tag="variable", omit_defaults=True):
    """A variable of the user's own shell, which no other process can change.

    Attributes:
        name: its name.
        value: what it gets; None: it is taken out.
        join: put the value before or after what is there, with a colon.
    """

    name: str
    value: str | None = None
    join: Literal["before", "after"] | None = None


class FileSection(msgspec.Struct, frozen=True):
    """Lines below a header of a file in TOML or INI; a line takes the place of one with the same key."""

    header: str  # "[gpu]", "[[tool.uv.index]]"
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The section as it stands in a file."""
        return "\n".join((self.header, *self.lines))


class Edit(msgspec.Struct, frozen=True, tag_field="kind", tag="edit", omit_defaults=True):
    """A change of a file; one of text, add, sections, word and gone says which.

    Attributes:
        path: the file, absolute or below ~/.
        text: all that is in it afterwards.
        add: lines that are put at its end unless they are there.
        sections: lines below headers.
        word: a shell variable of the file, and a word that is added to its quoted value.
        gone: whether the file is taken away.
        root: whether only root may write there.
    """

    path: str
    text: str | None = None
    add: tuple[str, ...] = ()
    sections: tuple[FileSection, ...] = ()
    word: tuple[str, str] | None = None
    gone: bool = False
    root: bool = False


class Manual(msgspec.Struct, frozen=True, tag_field="kind", tag="manual", omit_defaults=True):
    """What only a person can do: a sentence, or lines for another place than a shell of this machine."""

    text: str
    where: Where = "here"


Task = Command | Pipe | Shell | Variable | Edit | Manual
Tasks = tuple[Task, ...]


def cmd(
    *words: str | int | Placeholder,
    root: bool = False,
    lookup: bool = False,
    placeholders: tuple[Placeholder, ...] = (),
    env: tuple[tuple[str, str], ...] = (),
    packages: PackageChange | None = None,
    note: str = "",
    person: bool = False,
) -> Command:
    """A command of these words; a `Placeholder` among them stands by its name.

    Args:
        words: its words.
        root: whether it needs root.
        lookup: whether it only looks.
        placeholders: what the user fills in within a word.
        env: variables for it alone.
        packages: whose packages it changes.
        note: a sentence about it, for the fix's text.
        person: whether only a person can run it.
    """
    own = tuple(word for word in words if isinstance(word, Placeholder))
    argv = tuple(word.name if isinstance(word, Placeholder) else str(word) for word in words)
    return Command(argv, root, lookup, (*own, *placeholders), env, packages, note, person)


def as_root(
    *words: str | int | Placeholder, placeholders: tuple[Placeholder, ...] = (), note: str = "", person: bool = False
) -> Command:
    """A command that needs root."""
    return cmd(*words, root=True, placeholders=placeholders, note=note, person=person)


def query(
    *words: str | int | Placeholder, root: bool = False, placeholders: tuple[Placeholder, ...] = (), note: str = ""
) -> Command:
    """A command that only looks."""
    return cmd(*words, root=root, lookup=True, placeholders=placeholders, note=note)


def pipe(*stages: Command) -> Pipe:
    """Commands behind each other, which change something."""
    return Pipe(stages)


def filtered(first: Command, *filters: Command) -> Pipe:
    """What a command writes, filtered: it only looks."""
    return Pipe((first, *filters), lookup=True)


def export(name: str, value: str | int, join: Literal["before", "after"] | None = None) -> Variable:
    """Give a variable of the user's shell a value."""
    return Variable(name, str(value), join)


def unset(name: str) -> Variable:
    """Take a variable out of the user's shell."""
    return Variable(name)


def sentence(text: str) -> Tasks:
    """What only a person can do, as a sentence."""
    return (Manual(text),)


def lines(text: str) -> Manual:
    """Lines for a file whose other lines only its owner knows: of a pod, a Compose file, a machine's settings."""
    return Manual(text, "configuration")


def code(text: str) -> Manual:
    """Lines of the user's own program."""
    return Manual(text, "program")


def placeholders_of(task: Task) -> tuple[Placeholder, ...]:
    """What the user has to fill in before the task can be run."""
    return task.placeholders if isinstance(task, Command | Pipe | Shell) else ()


def needs_root(task: Task) -> bool:
    """Whether a task needs root."""
    return not isinstance(task, Variable | Manual) and task.root


def is_lookup(task: Task) -> bool:
    """Whether a task changes nothing."""
    return isinstance(task, Command | Pipe | Shell) and task.lookup


def ends_sessions(task: Task) -> bool:
    """Whether a task reboots the machine or turns it off, and so ends what everybody does there."""
    if not isinstance(task, Command):
        return False
    return task.argv[0] in _ENDS or (task.argv[0] in ("systemctl", "apiclient") and task.argv[1:2] in _OF_SYSTEM)


_ENDS = ("reboot", "poweroff", "halt", "shutdown")
_OF_SYSTEM = (("reboot",), ("poweroff",))


def can_run(task: Task) -> bool:
    """Whether a program can do the task in the user's place, given the right to."""
    if isinstance(task, Variable | Manual) or placeholders_of(task):
        return False
    return not (isinstance(task, Command) and task.person)
