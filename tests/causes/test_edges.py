"""Each edge of the table holds on a machine that has both troubles; and no edge is written that can have no effect."""

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Check
from gpudoctor.root_causes import PLACES
from tests.causes.composed import asked, is_explained
from tests.causes.edges import edges


@pytest.mark.timeout(900)  # it makes some two thousand machines
def test_each_cause_explains_its_consequence() -> None:
    table = edges()
    wrong: list[str] = []
    through = {(f"@{name}", one): False for name, group in table.groups.items() for one in group}
    for consequence, causes in table.named.items():
        for name in causes:
            held = False
            for one in table.groups.get(name[1:], [name]):
                if held and through.get((name, one)):
                    continue  # one of a group is enough here, and this one explains something elsewhere
                if is_explained(asked(consequence), asked(one)):
                    held = through[name, one] = True
            if not held:
                wrong.append(f"{name} no longer explains {consequence}")
    wrong += [f"{one} of {name} no longer explains anything" for (name, one), held in through.items() if not held]
    assert wrong == []


def test_the_table_names_checks() -> None:
    table, ids = edges(), set(catalogue.ids())
    named = {name for causes in table.named.values() for name in causes if not name.startswith("@")}
    grouped = {one for causes in table.groups.values() for one in causes}
    assert {*table.named, *named, *grouped} - ids == set()
    used = {name[1:] for causes in table.named.values() for name in causes if name.startswith("@")}
    assert used == set(table.groups)


CHECKS = {one.id: one for one in catalogue.load(catalogue.ids())}


def _place(one: Check[object]) -> tuple[int, str]:
    return PLACES[one.area], one.id


def test_no_cause_is_overruled() -> None:
    """Of two that name each other the deeper one is the cause, so the other way round is written in vain."""
    overruled = [
        f"{one.id}: {name}"
        for one in CHECKS.values()
        for name in one.caused_by
        if name in CHECKS and CHECKS[name].explains_through(one.id) and _place(CHECKS[name]) >= _place(one)
    ]
    assert overruled == []


def test_an_area_that_is_named_whole_touches_the_same_people() -> None:
    """Else no check of it can explain this one."""

    def touches(one: Check[object], other: Check[object]) -> bool:
        both = {*one.affects, *other.affects}
        return "everything" in both or bool(set(one.affects) & set(other.affects))

    vain = [
        f"{one.id}: {name}"
        for one in CHECKS.values()
        for name in one.caused_by
        if name.endswith(".*")
        and not any(touches(one, other) for other in CHECKS.values() if other.area == name[:-2] and other is not one)
    ]
    assert vain == []
