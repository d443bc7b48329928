"""One expectation, held against facts: a check like any other, whose subject is the line that says it."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gpudoctor.catalogue import broken
from gpudoctor.check_engine import About, Check, Fix, Problem, Severity
from gpudoctor.expect.causes import caused_by
from gpudoctor.expect.evaluate import Wanted, judged, open_question, words, wrong
from gpudoctor.expect.operators import shown
from gpudoctor.expect.values import FoundValue, found
from gpudoctor.facts import Facts
from gpudoctor.maybe import UnknownFactError

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
    wanted: Wanted
    place: str
    severity: Severity = Severity.ERROR
    message: str = ""
    fix: str = ""
    shown: str = ""

    def check(self, facts: Facts) -> Check[Any]:
        """The check that holds it against these facts."""
        try:
            return self.reported([(one, judged(self.wanted, one.value)) for one in found(facts, self.steps)])
        except Exception as error:  # a fault of ours is one check that is broken
            return broken(self.id, f"{type(error).__name__}: {error}")

    def reported(self, values: Sequence[tuple[FoundValue, str | None]]) -> Check[Any]:
        """The check that says what was judged of each value."""
        bad = [one for one, why in values if why == ""]
        unknown = [(one, why) for one, why in values if why]
        about = _about(self.place, bad or [one for one, _ in unknown])

        def each(_: Facts) -> Iterator[tuple[About, None]]:
            yield about, None

        def function(_: None) -> Problem | None:
            if bad:
                return Problem(self.message or self._sentence(bad), self._evidence(bad))
            if unknown:
                raise UnknownFactError(open_question(unknown[0][0].path, str(unknown[0][1])))
            return None

        missing = bool(unknown) or any(_missing(one) for one in bad) or "count" in dict(self.wanted)
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

    @property
    def wanted_words(self) -> str:
        """What is wanted, for people."""
        return self.shown or words(self.wanted)

    def _sentence(self, bad: list[FoundValue]) -> str:
        """What was wanted and what was found; equal values of several GPUs once."""
        by_value: dict[str, list[str]] = {}
        several = "*" in self.steps or len(bad) > 1 or self.steps[0] == "smoke"
        for one in bad:
            ends = _ends(one)
            where = by_value.setdefault(ends or self._shown(one.value), [])
            where += [one.label or one.path] if several and not ends else []
        reported = [f"{value} ({', '.join(where)})" if where else value for value, where in by_value.items()]
        return wrong(self.path, self.wanted_words, "; ".join(reported))

    def _shown(self, value: Any) -> str:
        if value is None:
            return "none"
        if isinstance(value, tuple | dict):
            counted = "count" in dict(self.wanted)
            return str(len(value)) if counted else shown([str(one) for one in value][:MOST])
        return shown(value) if isinstance(value, str | int | float) else "one"

    def _evidence(self, bad: list[FoundValue]) -> tuple[str, ...]:
        lines = [f"{one.path} = {self._shown(one.value)}" for one in bad[:MOST]]
        more = [f"and {len(bad) - MOST} more"] if len(bad) > MOST else []
        return (f"{self.place}: expected {self.wanted_words}", *lines, *more)


def slug(path: str) -> str:
    """The id of the check of a path."""
    return "expect." + (re.sub(r"[^a-z0-9]+", "-", path.lower()).strip("-") or "facts")


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
