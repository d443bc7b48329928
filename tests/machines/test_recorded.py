"""The machines of bundles: each has the verdict of its row, and names nobody."""

import pytest

from gpudoctor import catalogue
from gpudoctor.pipeline import check
from scripts.add_case import shareable
from tests.machines.recorded import HEALTHY, HERE, Row, facts, rows, wrong

ROWS = rows()


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_the_verdict(row: Row) -> None:
    faults = wrong(row, check(facts=facts(row)))
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_the_facts_are_masked_and_small(row: Row) -> None:
    assert shareable(row.name, facts(row)) == (HERE / "recorded" / f"{row.name}.json").read_bytes()


def test_each_row_has_its_facts_and_names_checks_that_there_are() -> None:
    assert sorted(path.stem for path in (HERE / "recorded").iterdir()) == sorted(row.name for row in ROWS)
    named = {id_ for row in ROWS for id_ in (row.cause, *row.never, *(row.effects or ()))}
    assert not named - {*catalogue.ids(), HEALTHY}
