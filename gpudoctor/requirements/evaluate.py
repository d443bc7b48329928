"""Holds demands against facts, and finds what explains those that do not hold."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown, phrase
from gpudoctor.report.failures import told, ways
from gpudoctor.report.model import FindingEntry, FixEntry, Report
from gpudoctor.requirements.demands import DEMANDS, OF_GPUS, Demand
from gpudoctor.root_causes import BEARABLE, KEEPS_OUT
from gpudoctor.targets import gpus_of


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
    """A machine is not as demanded; its text says what, why, and what to type.

    Attributes:
        unmet: each demand that does not hold.
        report: the whole report.
    """

    def __init__(self, unmet: tuple[UnmetDemand, ...], report: Report) -> None:
        self.unmet, self.report = unmet, report
        super().__init__("\n".join(_all_told(unmet)))


def validated(given: Mapping[str, object]) -> dict[str, tuple[Demand, Any]]:
    """The demands with what is wanted of each.

    Raises:
        TypeError: there is no such demand, or it wants something of another type.
        ValueError: a version specifier is none.
    """
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    wanted: dict[str, tuple[Demand, Any]] = {}
    for name, value in given.items():
        demand = DEMANDS.get(name)
        if demand is None:
            raise TypeError(_no_such(name))
        if demand.kind == "least" and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise TypeError(f"{name} takes a number, not {value!r}.")
        if demand.kind != "least" and not isinstance(value, str):
            raise TypeError(f"{name} takes a string, not {value!r}.")
        if demand.kind == "version":
            try:
                wanted[name] = demand, SpecifierSet(str(value), prereleases=True)
            except InvalidSpecifier:
                raise ValueError(f'{name} takes a version specifier such as ">=580", not {value!r}.') from None
        else:
            wanted[name] = demand, value
    return wanted


def _no_such(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, DEMANDS, 1, 0.6)
    hint = f"Did you mean {close[0]}?" if close else f"Possible: {', '.join(DEMANDS)}."
    return f"Unknown requirement {name}. {hint}"


def unmet(wanted: Mapping[str, tuple[Demand, Any]], facts: Facts, report: Report) -> tuple[UnmetDemand, ...]:
    """The demands that do not hold on these facts, and what of the report explains each."""
    found = []
    for name, (demand, value) in wanted.items():
        have = demand.read(facts)
        if isinstance(have, Unknown):
            message = f"{name}: expected {_shown(value)}, but unknown ({demand.message}): {have.unknown}."
            found.append(UnmetDemand(name, message, True, _explains(demand, value, have, facts, report)))
        elif not _holds(demand, value, have):
            said = "none" if have in (None, ()) else f"{demand.message}: {_have(have)}"
            message = f"{name}: expected {_shown(value)}, found {said}."
            found.append(UnmetDemand(name, message, False, _explains(demand, value, have, facts, report)))
    return tuple(found)


def _holds(demand: Demand, value: Any, have: object) -> bool:
    if have is None:
        return False
    if demand.kind == "least":
        return isinstance(have, int | float) and have >= value
    if demand.kind == "version":
        from packaging.version import InvalidVersion

        try:
            return bool(value.contains(str(have)))
        except InvalidVersion:
            return False
    return isinstance(have, tuple) and bool(have) and all(str(value).lower() in str(name).lower() for name in have)


def _explains(demand: Demand, value: Any, have: object, facts: Facts, report: Report) -> FindingEntry | None:
    """The finding without which the demand would hold, as far as can be said; None: there is none.

    Of several, the one of the area that is named first; advice where there is no other.
    """
    if isinstance(have, Unknown) or have in (None, ()):
        areas = demand.lacks
    elif demand.next and _holds(demand, value, demand.next(facts)):
        areas = ("driver",)  # the wanted one is installed, and another one is loaded
    else:
        areas = demand.differs
    places = [(one, place) for one in report.findings if (place := _place(one, areas, facts, have)) is not None]
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
    return finding.status != "warn" or finding.check.partition(".")[0] not in BEARABLE or finding.check in KEEPS_OUT


def _is_of_one_that_answers(finding: FindingEntry, facts: Facts) -> bool:
    """Whether it is about a GPU that answers, so that it explains none that is missing."""
    return any(
        finding.subject in (f"GPU {gpu.index}", phrase("the GPU at {}", gpu.address))
        for gpu in gpus_of(facts)
        if gpu.status == "ok"
    )


def _shown(value: Any) -> str:
    return f"at least {value:g}" if isinstance(value, int | float) else str(value)


def _have(have: object) -> str:
    if isinstance(have, tuple):
        return ", ".join(dict.fromkeys(str(one) for one in have))
    return f"{have:g}" if isinstance(have, int | float) else str(have)


def _all_told(unmet: tuple[UnmetDemand, ...]) -> Iterator[str]:
    """Each demand with what explains it; what explains several is told whole at the first of them."""
    before: set[str] = set()
    for one in unmet:
        lines = told(one.finding) if one.finding else ways(one.planned)
        if one.finding and lines[0] in before:
            lines = [f"{one.finding.check}: as above."]
        before.update(lines[:1] if one.finding else ())
        yield "\n  ".join([one.message, *lines])
