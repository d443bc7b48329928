"""Each breakage of a real environment is found by its cause, and the first fix, typed as it stands, repairs it."""

import pytest

from tests.clinic.conftest import Patient
from tests.clinic.kit import TABLE, Breakage
from tests.standins import needs_gcc

pytestmark = [pytest.mark.realenv, pytest.mark.timeout(2400), needs_gcc]
# Its driver runs every environment of the table.
HEALTHY_HOST = "rtx-4090"


def _rows() -> list[object]:
    often, seldom = (), (pytest.mark.nightly,)
    return [pytest.param(row, id=row.name, marks=often if row.always else seldom) for row in TABLE.breakage]


@pytest.mark.parametrize("row", _rows())
def test_typing_the_first_fix_repairs(row: Breakage, patient: Patient) -> None:
    shell, program = patient(row.environment, row.host), TABLE.program[row.program]
    done = shell.type(*(f"export {key}={value}" for key, value in row.env.items()), row.breaks)
    assert done.returncode == 0, done.stderr
    before, words = shell.runs(program)
    assert before == row.runs, f"before: {words}"
    unproven = TABLE.environment[row.environment].unproven
    found = [f for f in shell.check() if f["check"] not in unproven]
    assert [f["check"] for f in found][:1] == [row.cause], [(f["status"], f["check"], f["message"]) for f in found]
    commands = found[0]["fixes"][row.fix - 1]["commands"]
    assert commands, found[0]["fixes"]
    if not row.typed:
        return
    done = shell.type(*commands)
    assert done.returncode == 0, (commands, done.stderr[-2000:])
    runs, words = shell.runs(program)
    assert runs, (commands, words)
    left = [f for f in shell.check() if f["check"] not in unproven]
    again = [f for f in left if f["status"] == "fail" or f["message"] == found[0]["message"]]
    assert not again, [(f["status"], f["check"], f["message"]) for f in left]


def _healthy() -> list[str]:
    """The environments without those in which nothing has to be broken first."""
    broken = {row.environment for row in TABLE.breakage if not (row.breaks or row.env) and row.host == HEALTHY_HOST}
    return [name for name in TABLE.environment if name not in broken]


@pytest.mark.nightly
@pytest.mark.parametrize("environment", _healthy())
def test_a_healthy_environment_has_no_failure(environment: str, patient: Patient) -> None:
    found, unproven = patient(environment, HEALTHY_HOST).check(), TABLE.environment[environment].unproven
    assert not [(f["check"], f["message"]) for f in found if f["status"] == "fail" and f["check"] not in unproven]
