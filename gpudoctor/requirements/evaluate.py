"""Holds demands against facts, and finds what explains those that do not hold."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gpudoctor.catalogue import load
from gpudoctor.expect.evaluate import Wanted, judged, together, words, wrong
from gpudoctor.expect.operators import OPERATORS, shown
from gpudoctor.expect.paths import Leaf
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown, phrase
from gpudoctor.report.failures import failure_lines, ways
from gpudoctor.report.model import FindingEntry, FixEntry, Report
from gpudoctor.requirements.demands import DEMANDS, OF_GPUS, Demand
from gpudoctor.targets import gpus_of

ANYTHING = Leaf(object, frozenset())  # the operators of demands ask nothing of the fact's type


class UnmetDemand(NamedTuple):
    """A demand that does not hold, or of which nobody can say whether it does.

    Attributes:
        name: the demand.
        message: one sentence: what was wanted, and what was found.
        unknown: whether it could not be found out.
        finding: what explains it; None: nothing that is wrong does.
        planned: where nothing does: what makes the machine as it is demanded, as far as gpudoctor knows.
    """

    name: str
    message: str
    unknown: bool = False
    finding: FindingEntry | None = None
    planned: tuple[FixEntry, ...] = ()

    @property
    def fixes(self) -> tuple[FixEntry, ...]:
        """What to do about it, as far as gpudoctor knows; of several, one is enough."""
        return self.finding.fixes if self.finding else self.planned


class RequirementError(Exception):
    """A machine does not meet the demands; its text is which, why, and the commands that fix it.

    Attributes:
        unmet: each demand that does not hold.
        report: the whole report.
    """

    def __init__(self, unmet: tuple[UnmetDemand, ...], report: Report) -> None:
        self.unmet, self.report = unmet, report
        super().__init__("\n".join(_all_reported(unmet)))


class WantedDemand(NamedTuple):
    """A demand, and what its operator compares with."""

    demand: Demand
    held: Any

    @property
    def wanted(self) -> Wanted:
        """As gpudoctor.expect.evaluate takes it."""
        return ((self.demand.operator, self.held),)

    @property
    def given(self) -> Any:
        """What was given: a number, a text, or a version specifier as packaging has it."""
        return self.held[1] if self.demand.operator == "version" else self.held


def validated(given: Mapping[str, object]) -> dict[str, WantedDemand]:
    """The demands with what is wanted of each.

    Raises:
        TypeError: there is no such demand, or it wants something of another type.
        ValueError: a version specifier is none.
    """
    wanted: dict[str, WantedDemand] = {}
    for name, value in given.items():
        demand = DEMANDS.get(name)
        if demand is None:
            raise TypeError(_no_such(name))
        operator = OPERATORS[demand.operator]
        try:
            wanted[name] = WantedDemand(demand, operator.held(value, ANYTHING))
        except ValueError:
            kind = ValueError if demand.operator == "version" and isinstance(value, str) else TypeError
            raise kind(f"{name} takes {operator.takes}, not {value!r}.") from None
        if isinstance(value, int | float) and not 0 <= value < float("inf"):
            raise ValueError(f"{name} takes a number from 0 on, not {value!r}.")
    return wanted


def _no_such(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, DEMANDS, 2, 0.6)
    hint = f"Did you mean {' or '.join(close)}?" if close else f"Possible: {', '.join(DEMANDS)}."
    return f"Unknown requirement {name}. {hint}"


def unmet(wanted: Mapping[str, WantedDemand], facts: Facts, report: Report) -> tuple[UnmetDemand, ...]:
    """The demands that do not hold on these facts, and what of the report explains each."""
    found = []
    for name, one in wanted.items():
        have = one.demand.read(facts)
        why = _judged(one, have)
        if why is None:
            continue
        what, said = one.demand.message, words(one.wanted)
        if why:
            message = f"{name}: expected {said}, but unknown ({what}): {why}."
        else:
            message = wrong(name, said, f"none ({what})" if have in (None, ()) else f"{what}: {_have(have)}")
        found.append(UnmetDemand(name, message, bool(why), _explains(one, have, facts, report)))
    return tuple(found)


def _judged(one: WantedDemand, have: object) -> str | None:
    """As gpudoctor.expect.evaluate judges it; of several names each has to be as wanted, and none is not."""
    values = have if isinstance(have, tuple) else (have,)
    return together(judged(one.wanted, value) for value in values or (None,))


def _explains(one: WantedDemand, have: object, facts: Facts, report: Report) -> FindingEntry | None:
    """The finding without which the demand would hold, as far as can be said; None: there is none.

    Of several, the one of the area that is named first; advice where there is no other.
    """
    demand = one.demand
    if isinstance(have, Unknown) or have in (None, ()):
        areas = demand.lacks
    elif demand.next and _judged(one, demand.next(facts)) is None:
        areas = ("driver",)  # the wanted one is installed, and another one is loaded
    else:
        areas = demand.differs
    places = [(each, place) for each in report.findings if (place := _place(each, areas, facts, have)) is not None]
    return min(places, key=lambda pair: (pair[0].status == "advice", pair[1]), default=(None, 0))[0]


def _place(finding: FindingEntry, areas: tuple[str, ...], facts: Facts, have: object) -> int | None:
    """The place in a list of areas and ids where a finding, or what follows from it, stands; None: nowhere."""
    checks = (finding.check, *(one.check for one in finding.consequences))
    for place, area in enumerate(areas):
        if not any(area in (check, check.partition(".")[0]) for check in checks):
            continue
        if area not in OF_GPUS or (_keeps_out(finding) and not (have and _is_of_one_that_answers(finding, facts))):
            return place
    return None


def _keeps_out(finding: FindingEntry) -> bool:
    """Whether programs cannot use a GPU because of it: one that is hot or waits for a reset is there all the same."""
    return finding.status != "warn" or not load([finding.check])[0].bearable


def _is_of_one_that_answers(finding: FindingEntry, facts: Facts) -> bool:
    """Whether it is about a GPU that answers, so that it explains none that is missing."""
    return any(
        finding.subject in (f"GPU {gpu.index}", phrase("the GPU at {}", gpu.address))
        for gpu in gpus_of(facts)
        if gpu.status == "ok"
    )


def _have(have: object) -> str:
    if isinstance(have, tuple):
        return ", ".join(dict.fromkeys(str(one) for one in have))
    return have if isinstance(have, str) else shown(have)


def _all_reported(unmet: tuple[UnmetDemand, ...]) -> Iterator[str]:
    """Each demand with what explains it; what explains several is told whole at the first of them."""
    before: set[str] = set()
    for one in unmet:
        lines = failure_lines(one.finding) if one.finding else ways(one.planned)
        if one.finding and lines[0] in before:
            lines = [f"{one.finding.check}: as above."]
        before.update(lines[:1] if one.finding else ())
        yield "\n  ".join([one.message, *lines])
