"""Holds demands against facts, and finds what explains those that do not hold."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from gpudoctor.report.failures import told
from gpudoctor.report.model import FindingEntry, FixEntry, Report
from gpudoctor.requirements.wanted import DEMANDS, Demand


class Unmet(NamedTuple):
    """A demand that does not hold, or of which nobody can say whether it does.

    Attributes:
        name: the demand.
        says: one sentence: what was wanted, and what was found.
        unknown: whether it could not be found out.
        finding: what explains it; None: nothing that was found does.
    """

    name: str
    says: str
    unknown: bool = False
    finding: FindingEntry | None = None

    @property
    def fixes(self) -> tuple[FixEntry, ...]:
        """What mends it, as far as gpudoctor knows."""
        return self.finding.fixes if self.finding else ()


class RequirementError(Exception):
    """A machine is not as demanded; its text says what, why, and what to type.

    Attributes:
        unmet: each demand that does not hold.
        report: the whole report.
    """

    def __init__(self, unmet: tuple[Unmet, ...], report: Report) -> None:
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
            raise TypeError(f"{name} takes a text, not {value!r}.")
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
    hint = f"Did you mean {close[0]}?" if close else f"There are {', '.join(DEMANDS)}."
    return f"Nothing called {name} can be required. {hint}"


def unmet(wanted: Mapping[str, tuple[Demand, Any]], facts: Facts, report: Report) -> tuple[Unmet, ...]:
    """The demands that do not hold on these facts, and what of the report explains each."""
    found = []
    for name, (demand, value) in wanted.items():
        have = demand.read(facts)
        if isinstance(have, Unknown):
            says = f"{name}: wanted {_shown(value)}, and {demand.says} could not be found out: {have.unknown}."
            found.append(Unmet(name, says, True, _explains(demand, report)))
        elif not _holds(demand, value, have):
            said = "there is none" if have in (None, ()) else f"{demand.says}: {_have(have)}"
            found.append(
                Unmet(name, f"{name}: wanted {_shown(value)}, found {said}.", False, _explains(demand, report))
            )
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


def _explains(demand: Demand, report: Report) -> FindingEntry | None:
    """The first finding that concerns the demand, itself or through a consequence; advice where there is no other."""
    found = [one for one in report.findings if _concerns(one, demand)]
    return next((one for one in found if one.status != "advice"), found[0] if found else None)


def _concerns(finding: FindingEntry, demand: Demand) -> bool:
    checks = (finding.check, *(one.check for one in finding.consequences))
    return any(check.split(".")[0] in (*demand.areas, "device") for check in checks)


def _shown(value: Any) -> str:
    return f"at least {value:g}" if isinstance(value, int | float) else str(value)


def _have(have: object) -> str:
    if isinstance(have, tuple):
        return ", ".join(dict.fromkeys(str(one) for one in have))
    return f"{have:g}" if isinstance(have, int | float) else str(have)


def _all_told(unmet: tuple[Unmet, ...]) -> Iterator[str]:
    """Each demand with what explains it; what explains several is told whole at the first of them."""
    before: set[str] = set()
    for one in unmet:
        lines = told(one.finding) if one.finding else []
        if one.finding and lines[0] in before:
            lines = [f"{one.finding.check}: as above."]
        before.update(lines[:1])
        yield "\n  ".join([one.says, *lines])
