"""One expectation, held against facts: a check like any other, whose subject is the line that says it."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gpudoctor.catalogue import broken
from gpudoctor.check_engine import About, Check, Fix, Problem, Severity
from gpudoctor.expect.causes import caused_by
from gpudoctor.expect.evaluate import Wanted, judged, open_question, words, wrong
from gpudoctor.expect.operators import shown
from gpudoctor.expect.paths import title_of
from gpudoctor.expect.values import FoundValue, found
from gpudoctor.facts import Facts
from gpudoctor.facts.units import unit_of
from gpudoctor.maybe import UnknownFactError
from gpudoctor.queries.driver import user_version
from gpudoctor.registry import EXPECT
from gpudoctor.report.numbers import quantity, spans
from gpudoctor.targets import VENDORS

MOST = 8  # places, or elements of a list, that a sentence names


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
            return self.reported([(one, judged(self.wanted, one.value)) for one in found(facts, self.steps)], facts)
        except Exception as error:  # a fault of ours is one check that is broken
            return broken(self.id, f"{type(error).__name__}: {error}")

    def reported(self, values: Sequence[tuple[FoundValue, str | None]], facts: Facts) -> Check[Any]:
        """The check that says what was judged of each value.

        Args:
            values: each with what `judged` returned of it.
            facts: those that fixes are made for.
        """
        bad = [one for one, why in values if why == ""]
        unknown = [(one, why) for one, why in values if why]
        vendor = self.steps[0] if self.steps[0] in VENDORS else None
        about = _about(self.place, bad or [one for one, _ in unknown], vendor)

        def each(_: Facts) -> Iterator[tuple[About, None]]:
            yield about, None

        def function(_: None) -> Problem | None:
            if bad:
                sentence = self._sentence(bad)
                return Problem(self.message or sentence, (sentence,) if self.message else ())
            if unknown:
                raise UnknownFactError(open_question(unknown[0][0].path, str(unknown[0][1])))
            return None

        def how(_: None) -> tuple[Fix, ...]:
            return (Fix(self.fix),) if self.fix else self._fixes(facts, bad)

        missing = bool(unknown) or any(_missing(one) for one in bad) or "count" in dict(self.wanted)
        made: Check[Any] = Check(
            function,
            title=title_of(self.path),
            severity=self.severity,
            cause=f"The rule is in {self.place}. Change it there if this machine is right.",
            targets=each,
            fixes=how,
            caused_by=caused_by(self.steps, missing, about.package, self._is_pending(facts), self._installed(bad)),
            essential=self.severity is not Severity.ADVICE,
        )
        made.id, made.area = self.id, EXPECT
        return made

    def _is_pending(self, facts: Facts) -> bool:
        """Whether it is about the loaded driver, and holds for the installed one."""
        of_driver = self.steps[-1] in ("loaded", "driver_version")
        return of_driver and judged(self.wanted, user_version(facts)) is None

    def _installed(self, bad: Sequence[FoundValue]) -> bool:
        """Whether the framework is there whose own report is not as wanted."""
        return not any("live" in self.steps[-one.left :] for one in bad if one.left)

    @property
    def wanted_words(self) -> str:
        """What is wanted, for people."""
        return self._wanted_words()

    def _wanted_words(self, exact: bool = False) -> str:
        return self.shown or words(self.wanted, lambda value: self._value(value, exact))

    def _fixes(self, facts: Facts, bad: list[FoundValue]) -> tuple[Fix, ...]:
        """What makes the machine so; of a report that leaves it no variable, because its value may be hidden."""
        if self.shown and self.steps[0] == "host":
            return ()
        from gpudoctor.expect.fixes import fixes

        return fixes(facts, self.steps, self.wanted, bad)

    def _sentence(self, bad: list[FoundValue]) -> str:
        """What was wanted and what was found; equal values of several GPUs once."""
        wanted, there = self._wanted_words(), self._found_words(bad)
        if unit_of(self.steps) and any(f" {one}" in f" {wanted}" for one in there):  # 80 GiB, and a byte less
            wanted, there = self._wanted_words(exact=True), self._found_words(bad, exact=True)
        reported = [f"{value} ({_places(where)})" if where else value for value, where in there.items()]
        return wrong(self.path, wanted, "; ".join(reported))

    def _found_words(self, bad: list[FoundValue], exact: bool = False) -> dict[str, list[FoundValue]]:
        """Each value for people, with the places where it is, as far as the path does not name them."""
        by_value: dict[str, list[FoundValue]] = {}
        several = "*" in self.steps or len(bad) > 1 or self.steps[0] == "smoke"
        for one in bad:
            ends = _ends(one)
            where = by_value.setdefault(ends or self._shown(one.value, exact), [])
            where += [one] if several and not ends else []
        return by_value

    def _shown(self, value: Any, exact: bool) -> str:
        if value is None:
            return "none"
        if isinstance(value, tuple | dict):
            counted = "count" in dict(self.wanted)
            return str(len(value)) if counted else shown([str(one) for one in value][:MOST])
        return self._value(value, exact) if isinstance(value, str | int | float) else "one"

    def _value(self, value: Any, exact: bool) -> str:
        """A value of this fact: a number with its unit."""
        unit = unit_of(self.steps)
        if not unit or isinstance(value, bool | str):
            return shown(value)
        if isinstance(value, tuple | list):
            return f"[{', '.join(self._value(one, exact) for one in value)}]"
        return quantity(value, unit, exact)


def slug(path: str) -> str:
    """The id of the check of a path."""
    return f"{EXPECT}." + (re.sub(r"[^a-z0-9]+", "-", path.lower()).strip("-") or "facts")


def _ends(one: FoundValue) -> str:
    """Where a path ends before its last step, for a sentence; empty where it does not."""
    if one.value is not None or not (one.left or one.path.endswith(".*")):
        return ""
    return f"none: {one.path[:-2]} is empty" if one.path.endswith(".*") else f"none: {one.path} does not exist"


def _places(founds: Sequence[FoundValue]) -> str:
    """Where a value was found: "GPUs 0 to 3, 5", or the first of other places."""
    numbers = [one.label.removeprefix("GPU ") for one in founds]
    if len(founds) > 1 and all(number.isdecimal() for number in numbers):
        return f"GPUs {spans(sorted(map(int, numbers)))}"
    places = list(dict.fromkeys(one.label or one.path for one in founds))
    return ", ".join(places[:MOST]) + (f" and {len(places) - MOST} more" if len(places) > MOST else "")


def _missing(one: FoundValue) -> bool:
    return one.value is None or one.value is False or one.value in ((), {}, 0)


def _about(place: str, founds: list[FoundValue], vendor: str | None) -> About:
    """The line and its vendor, and the GPU, interpreter and framework where all that is wrong belongs to one."""

    def only(field: str) -> str | None:
        values = {getattr(one, field) for one in founds}
        return values.pop() if len(values) == 1 else None

    return About(label=place, gpu=only("gpu"), python=only("python"), package=only("package"), vendor=vendor)
