"""One expectation, held against facts: a check like any other, whose subject is the line that says it."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gpudoctor.catalogue import broken
from gpudoctor.check_engine import About, Check, Fix, Problem, Severity
from gpudoctor.expect.causes import caused_by
from gpudoctor.expect.operators import OPERATORS, WITHOUT, shown
from gpudoctor.expect.values import FoundValue, found
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown, UnknownFactError

MOST = 8  # lines of evidence


class Expectation(NamedTuple):
    """What one table of a file says.

    Attributes:
        id: of its check: "expect.gpus-link-width".
        steps: of the path.
        path: as it is written.
        wanted: operators by name, each with what it compares with.
        place: the file and the line.
        severity: of the problem that it is not so.
        message: the operator's own sentence; "": ours.
        fix: what to do then, a sentence; "": nobody says.
        shown: what is wanted, for people, where that is not to be read off the operators.
    """

    id: str
    steps: tuple[str, ...]
    path: str
    wanted: tuple[tuple[str, Any], ...]
    place: str
    severity: Severity = Severity.ERROR
    message: str = ""
    fix: str = ""
    shown: str = ""

    def check(self, facts: Facts) -> Check[Any]:
        """The check that holds it against these facts."""
        try:
            return self.told([self.judged(one) for one in found(facts, self.steps)])
        except Exception as error:  # a fault of ours is one check that is broken
            return broken(self.id, f"{type(error).__name__}: {error}")

    def told(self, judged: Sequence[tuple[FoundValue, str | None]]) -> Check[Any]:
        """The check that says what was judged."""
        wrong = [one for one, why in judged if why == ""]
        unknown = [(one, why) for one, why in judged if why]
        about = _about(self.place, wrong or [one for one, _ in unknown])

        def each(_: Facts) -> Iterator[tuple[About, None]]:
            yield about, None

        def function(_: None) -> Problem | None:
            if wrong:
                return Problem(self.message or self._sentence(wrong), self._evidence(wrong))
            if unknown:
                raise UnknownFactError(f"{unknown[0][0].path} is unknown: {unknown[0][1]}")
            return None

        missing = bool(unknown) or any(_missing(one) for one in wrong) or "count" in dict(self.wanted)
        made: Check[Any] = Check(
            function,
            title=f"{self.path} is not as expected",
            severity=self.severity,
            cause=f"{self.place} expects {self.wanted_words}.",
            targets=each,
            fixes=(Fix(self.fix),) if self.fix else (),
            caused_by=caused_by(self.steps, missing, about.package),
            essential=self.severity is not Severity.ADVICE,
        )
        made.id, made.area = self.id, "expect"
        return made

    def judged(self, one: FoundValue) -> tuple[FoundValue, str | None]:
        """The value with None where all holds, "" where something does not, and why where nobody can say."""
        if isinstance(one.value, Unknown):
            return one, one.value.unknown
        try:
            return one, None if all(_holds(name, wanted, one.value) for name, wanted in self.wanted) else ""
        except UnknownFactError as error:
            return one, error.why

    @property
    def wanted_words(self) -> str:
        """What is wanted, for people."""
        return self.shown or " and ".join(OPERATORS[name].words(wanted) for name, wanted in self.wanted)

    def _sentence(self, wrong: list[FoundValue]) -> str:
        """What was wanted and what was found; equal values of several GPUs once."""
        by_value: dict[str, list[str]] = {}
        several = "*" in self.steps or len(wrong) > 1 or self.steps[0] == "smoke"
        for one in wrong:
            ends = _ends(one)
            where = by_value.setdefault(ends or self._shown(one.value), [])
            where += [one.label or one.path] if several and not ends else []
        told = [f"{value} ({', '.join(where)})" if where else value for value, where in by_value.items()]
        return f"{self.path}: expected {self.wanted_words}, found {'; '.join(told)}."

    def _shown(self, value: Any) -> str:
        if value is None:
            return "none"
        if isinstance(value, tuple | dict):
            counted = "count" in dict(self.wanted)
            return str(len(value)) if counted else shown([str(one) for one in value][:MOST])
        return shown(value) if isinstance(value, str | int | float) else "one"

    def _evidence(self, wrong: list[FoundValue]) -> tuple[str, ...]:
        lines = [f"{one.path} = {self._shown(one.value)}" for one in wrong[:MOST]]
        more = [f"and {len(wrong) - MOST} more"] if len(wrong) > MOST else []
        return (f"{self.place}: expected {self.wanted_words}", *lines, *more)


def slug(path: str) -> str:
    """The id of the check of a path."""
    return "expect." + (re.sub(r"[^a-z0-9]+", "-", path.lower()).strip("-") or "facts")


def _holds(name: str, wanted: Any, value: Any) -> bool:
    if value is None and name not in WITHOUT:
        return False
    return (value is None and name == "lacks") or OPERATORS[name].holds(wanted, value)


def _ends(one: FoundValue) -> str:
    """Where a path ends before its last step, for a sentence; empty where it does not."""
    if one.value is not None or not (one.left or one.path.endswith(".*")):
        return ""
    return f"none: {one.path[:-2]} is empty" if one.path.endswith(".*") else f"none: {one.path} does not exist"


def _missing(one: FoundValue) -> bool:
    return one.value is None or one.value is False or one.value in ((), {}, 0)


def _about(place: str, founds: list[FoundValue]) -> About:
    """The line, and the GPU, interpreter and framework where all that is wrong belongs to one."""

    def only(field: str) -> str | None:
        values = {getattr(one, field) for one in founds}
        return values.pop() if len(values) == 1 else None

    return About(label=place, gpu=only("gpu"), python=only("python"), package=only("package"))
