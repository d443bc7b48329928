"""What a check is, and how checks judge facts: a pure function, one verdict for each subject."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Any, Generic, Literal, TypeVar

import msgspec

from gpudoctor.facts import Facts
from gpudoctor.maybe import UnknownFactError
from gpudoctor.registry import AREAS, Area
from gpudoctor.tasks import Command, Shell, Task, Tasks, needs_root
from gpudoctor.tasks.as_typed import typed

S = TypeVar("S")


class Severity(str, Enum):
    """How bad a problem is; the value is the finding's status in the report."""

    __str__ = str.__str__  # as enum.StrEnum, which Python has from 3.11 on

    ERROR = "fail"  # something needed does not work
    WARNING = "warn"  # it works badly, or will break
    ADVICE = "advice"  # it could be better


class Outcome(str, Enum):
    """The result of one check on one target."""

    __str__ = str.__str__

    PASS = "pass"  # noqa: S105 - no password
    PROBLEM = "problem"
    UNKNOWN = "unknown"
    SKIPPED = "skipped"  # the check does not apply to this machine
    BROKEN = "broken"  # the check itself failed


Action = Literal[
    "restart-process",
    "relogin",
    "change-environment",
    "reinstall-package",
    "reload-module",
    "reset-gpu",
    "reboot",
    "power-cycle",
    "improve-cooling",
    "replace-hardware",
    "ask-vendor",
]
Impact = Literal["none", "reversible", "persistent", "irreversible", "data loss"]


class Fix(msgspec.Struct, frozen=True):
    """One way to fix a problem.

    Attributes:
        message: one sentence that starts with a verb.
        tasks: commands and edits, in this order, for this machine.
        action: the kind of action, for programs.
        root: whether it needs root, where no task states it.
        needs: what has to follow: relogin, restart of a service or container, reboot.
        impact: the worst that it does to the machine.
        undo: what takes it back.
        verify: the command that shows that it helped.
        place: where it is done: here, or outside of this container or virtual machine.
        later: it repairs nothing, but keeps the problem from coming back.
    """

    message: str
    tasks: Tasks = ()
    action: Action | None = None
    root: bool = False
    needs: str | None = None
    impact: Impact = "reversible"
    undo: Tasks = ()
    verify: Task | None = None
    place: Literal["here", "outside"] = "here"
    later: bool = False

    def __post_init__(self) -> None:
        """Hold that it is made of tasks: a string would be found only when somebody has the problem."""
        for one in (*self.tasks, *self.undo, *((self.verify,) if self.verify else ())):
            if not isinstance(one, Task):
                raise TypeError(f"a fix consists of tasks (gpudoctor.tasks.cmd, as_root ...), not of {one!r}")
            note = one.note if isinstance(one, Command | Shell) else ""
            if note and note not in self.message:
                msgspec.structs.force_setattr(self, "message", f"{self.message} {note}")

    @property
    def commands(self) -> tuple[str, ...]:
        """The tasks as an ordinary user types them."""
        return typed(self.tasks)

    @property
    def asks_root(self) -> bool:
        """Whether it needs root."""
        return self.root or any(map(needs_root, self.tasks))


class About(msgspec.Struct, frozen=True):
    """What a verdict is about; a field that is None does not narrow it down.

    Attributes:
        label: for people: "the driver", "GPU 0", "PyTorch 2.7.1".
        gpu: the GPU's PCI address, or its vendor and index where that is unknown.
        python: the interpreter's path.
        package: the framework or package.
        vendor: whose GPUs the package is built for: nvidia, amd, intel.
    """

    label: str = "this machine"
    gpu: str | None = None
    python: str | None = None
    package: str | None = None
    vendor: str | None = None

    def touches(self, other: "About") -> bool:
        """Whether a cause here can explain a problem there: nothing narrows them down to different things."""
        gpu = self.gpu is None or other.gpu is None or self.gpu == other.gpu
        return gpu and (self.python is None or other.python is None or self.python == other.python)


MACHINE = About()


class Problem(msgspec.Struct, frozen=True):
    """What a check found, where one sentence is not enough.

    Attributes:
        message: what is wrong with this target, in a sentence or two.
        evidence: what was seen, verbatim where possible.
        cause: the cause, where it is known better than in the check's own text; None: the check's.
        severity: of this case, where it differs from the check's; None: the check's.
        fixes: for this target; None: the check's.
        not_caused_by: causes of the check (ids, or "area.*") that this case rules out.
        failing: the package whose import fails, with the error among the evidence.
        breaks: the packages whose imports it breaks; empty: not narrowed down.
        words: what the errors of other packages' imports name where it breaks these too.
    """

    message: str
    evidence: tuple[str, ...] = ()
    cause: str | None = None
    severity: Severity | None = None
    fixes: tuple[Fix, ...] | None = None
    not_caused_by: tuple[str, ...] = ()
    failing: str | None = None
    breaks: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


Found = str | Problem | None
Fixes = tuple[Fix, ...] | Callable[[S], tuple[Fix, ...]]
Targets = Callable[[Facts], Iterable[tuple[About, S]]]


_AREAS = {area.name: area for area in AREAS}


class Check(Generic[S]):
    """One check; its `id` is the path of its file.

    Args:
        function: judges one target: a sentence or a `Problem` where it finds one, else None.
        title: the problem, as a headline.
        severity: how bad it is.
        cause: why it happens.
        fixes: for all machines, or a function of the target.
        references: public sources of the rule.
        targets: lists the targets on a machine.
        caused_by: ids (or "area.*") of the checks whose problem explains this one.
        affects: whom it touches: wheels, extensions, several-gpus, containers, display, tools, everything.
        validated_on: where it has met its problem so far, each with its month, the strongest first: hardware,
            environment, simulated, facts, table. `scripts/evidence.py` explains them, and writes what tests prove.
        essential: where it is unknown, the report is incomplete.
        vendor, linux_alone, bearable: as of `registry.Area`, where this check differs from its area; None: it does not.
        explains: whether its problem may explain others.
        breaks_imports: whether its problem breaks imports alone, and so explains nothing that is `read_from_files`.
        read_from_files: whether its problem is read from files, without an import: a build, a missing library.
        aliases: former ids.
        deprecated: why it is not judged any more, and what took its place.
        only_with: facts without which it finds nothing, so that its file need not be read where one of them is known
            to be missing; `gpudoctor.areas` explains how each is written.
        module: the module of its file, where a function elsewhere makes it; else that of the function.
    """

    def __init__(
        self,
        function: Callable[[S], Found],
        *,
        title: str,
        severity: Severity,
        cause: str,
        targets: Targets[S],
        fixes: Fixes[S] = (),
        references: Sequence[str] = (),
        caused_by: Sequence[str] = (),
        affects: Sequence[str] = ("everything",),
        validated_on: Sequence[str] = (),
        essential: bool = False,
        vendor: str | None = None,
        linux_alone: bool | None = None,
        bearable: bool | None = None,
        explains: bool = True,
        breaks_imports: bool = False,
        read_from_files: bool = False,
        aliases: Sequence[str] = (),
        deprecated: str | None = None,
        only_with: Sequence[str] = (),
        module: str | None = None,
    ) -> None:
        area, name = (module or function.__module__).split(".")[-2:]
        self.id = f"{area}.{name}".replace("_", "-")
        self.area = area
        self.function = function
        self.title, self.severity, self.cause = title, severity, cause
        self.targets, self.fixes = targets, fixes
        self.references, self.caused_by = tuple(references), tuple(caused_by)
        self.affects, self.validated_on = tuple(affects), tuple(validated_on)
        self.essential, self.aliases, self.deprecated = essential, tuple(aliases), deprecated
        self._vendor, self._linux_alone, self._bearable = vendor, linux_alone, bearable
        self.explains, self.breaks_imports, self.read_from_files = explains, breaks_imports, read_from_files
        self.only_with = tuple(only_with)

    def __repr__(self) -> str:
        return f"<Check {self.id}>"

    def __call__(self, subject: S) -> Found:
        """Judge one subject."""
        return self.function(subject)

    @property
    def _area(self) -> Area:
        return _AREAS.get(self.area, Area(self.area))

    @property
    def vendor(self) -> str | None:
        """Whose hardware and software it is about."""
        return self._vendor or self._area.vendor

    @property
    def linux_alone(self) -> bool:
        """Whether it judges what Linux alone has."""
        return self._area.linux_alone if self._linux_alone is None else self._linux_alone

    @property
    def bearable(self) -> bool:
        """Whether a machine with its warning computes all the same."""
        return self._area.bearable if self._bearable is None else self._bearable

    def fixes_for(self, subject: S) -> tuple[Fix, ...]:
        """The fixes for one subject."""
        return self.fixes(subject) if callable(self.fixes) else self.fixes

    def explains_through(self, id_: str) -> bool:
        """Whether a problem of the check `id_` is a cause of this one's."""
        return any(id_ == why or (why.endswith(".*") and id_.startswith(why[:-1])) for why in self.caused_by)


def check(**texts: Any) -> Callable[[Callable[[S], Found]], Check[S]]:
    """Turn a function into a `Check`; takes its arguments."""

    def made(function: Callable[[S], Found]) -> Check[S]:
        return Check(function, **texts)

    return made


def names(every: Iterable[str]) -> str:
    """Names of a table, as what follows "=" in a check's `only_with`."""
    return ",".join(sorted(set(every)))


def is_foreign(one: Check[Any], facts: Facts) -> bool:
    """Whether a check is about Linux, and the machine is none."""
    return facts.host.system != "Linux" and one.linux_alone


class Verdict(msgspec.Struct, frozen=True):
    """The result of one check on one target, with its problem and fixes."""

    check: Check[Any]
    about: About
    outcome: Outcome
    message: str = ""  # the problem, or why it is unknown or broken
    problem: Problem | None = None
    fixes: tuple[Fix, ...] = ()

    @property
    def severity(self) -> Severity:
        """The severity of the problem, else of the check."""
        own = self.problem.severity if self.problem else None
        return own or self.check.severity

    def may_follow_from(self, id_: str) -> bool:
        """Whether what was seen leaves it open that a problem of the check `id_` is the cause."""
        excluded = self.problem.not_caused_by if self.problem else ()
        return id_ not in excluded and f"{id_.partition('.')[0]}.*" not in excluded


def run(one: Check[S], facts: Facts) -> list[Verdict]:
    """Ask one check about each of its subjects; never raises."""
    if is_foreign(one, facts):
        return [Verdict(one, MACHINE, Outcome.SKIPPED)]
    verdicts: list[Verdict] = []
    try:
        for about, subject in one.targets(facts):
            verdicts.append(_ask(one, about, subject))
    except UnknownFactError as unknown:
        verdicts.append(Verdict(one, MACHINE, Outcome.UNKNOWN, unknown.why))
    except Exception as error:
        verdicts.append(Verdict(one, MACHINE, Outcome.BROKEN, _words(error)))
    return verdicts or [Verdict(one, MACHINE, Outcome.SKIPPED)]


def _ask(one: Check[S], about: About, subject: S) -> Verdict:
    try:
        found = one(subject)
        if found is None:
            return Verdict(one, about, Outcome.PASS)
        problem = Problem(found) if isinstance(found, str) else found
        fixes = _fixes(one, subject) if problem.fixes is None else problem.fixes
        return Verdict(one, about, Outcome.PROBLEM, problem.message, problem, fixes)
    except UnknownFactError as unknown:
        return Verdict(one, about, Outcome.UNKNOWN, unknown.why)
    except Exception as error:
        return Verdict(one, about, Outcome.BROKEN, _words(error))


def _fixes(one: Check[S], subject: S) -> tuple[Fix, ...]:
    """The fixes; none where a fact that they need is unknown: that makes the problem no less sure."""
    try:
        return one.fixes_for(subject)
    except UnknownFactError:
        return ()


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def judge(facts: Facts, checks: Iterable[Check[Any]]) -> Iterator[Verdict]:
    """Run checks over facts, in the order given."""
    for one in checks:
        if one.deprecated is None:
            yield from run(one, facts)
