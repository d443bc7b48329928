"""What was recognised in a log: bounded, however long the log is."""

import msgspec

from gpudoctor.knowledge.symptoms import Kind, Symptom
from gpudoctor.symptoms.origin import LogMarks


class Hit(msgspec.Struct, kw_only=True):
    """A message that means something, once for all its repetitions.

    Attributes:
        symptom: its row.
        kind: as the row's; a warning where the program only warned of an error and went on.
        line: where it stands first; counted from 1.
        text: that line, harmless and not too long.
        lines: that line whole and the next ones, which may say more, then those that repeat it in other words.
        times: how often it stands there.
        rank: which rank of several said it first; None: the line does not tell.
        packages: whose files the traceback before it went through.
        frames: the same, the innermost first; "" stands for the program's own files.
    """

    symptom: Symptom
    kind: Kind
    line: int
    text: str
    lines: list[str]
    times: int = 1
    rank: int | None = None
    packages: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()


class Raised(msgspec.Struct, frozen=True, kw_only=True):
    """An error that no row knows: an exception, a fatal line, or an error line of a GPU driver in a kernel log.

    Attributes:
        line, text, rank, packages, frames: as of a Hit.
        program: whose words it is.
        gpu: its words, or the assertion that raised it, have to do with GPUs.
        file: the last of the program's own files that the traceback names.
        chained: it was raised while another one was handled, or because of it.
        passed_on: another one was raised while it was handled, or because of it.
    """

    line: int
    text: str
    rank: int | None = None
    packages: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    program: str = "Python"
    gpu: bool = False
    file: str = ""
    chained: bool = False
    passed_on: bool = False


class Log(msgspec.Struct, kw_only=True):
    """What a log says.

    Attributes:
        lines: how many there are.
        hits: by row, in the order of their first lines.
        harmless: how often each row of noise was met.
        raised: the errors that no row knows: the first ones, and the last.
        marks: what the log names of its own machine.
        typed: it is no log: a message that somebody typed.
    """

    lines: int = 0
    hits: dict[str, Hit] = msgspec.field(default_factory=dict)
    harmless: dict[str, tuple[Symptom, int]] = msgspec.field(default_factory=dict)
    raised: list[Raised] = msgspec.field(default_factory=list)
    marks: LogMarks = msgspec.field(default_factory=LogMarks)
    typed: bool = False

    @property
    def asked(self) -> bool:
        """Whether it is nothing but a question of a person."""
        return bool(self.hits) and all(hit.symptom.source == "questions" for hit in self.hits.values())

    @property
    def failed(self) -> bool:
        """Whether it tells of a failure, and not of warnings alone."""
        return bool(self.raised) or any(hit.kind != "warning" for hit in self.hits.values())
