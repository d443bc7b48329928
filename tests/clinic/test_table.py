"""The table of breakages names checks, environments, hosts and programs that there are."""

from gpudoctor import checks
from tests.clinic.kit import TABLE

UNPROVEN = {check for environment in TABLE.environment.values() for check in environment.unproven}


def test_each_cause_is_a_check() -> None:
    wrong = {row.name: row.cause for row in TABLE.breakage if row.cause not in checks.ids()}
    assert not wrong
    assert not UNPROVEN - set(checks.ids())


def test_each_row_names_what_the_table_has() -> None:
    for row in TABLE.breakage:
        assert row.environment in TABLE.environment, row.name
        assert row.program in TABLE.program, row.name
        assert row.host in TABLE.host, row.name
        assert row.cause not in TABLE.environment[row.environment].unproven, row.name


def test_each_row_has_its_own_name() -> None:
    names = [row.name for row in TABLE.breakage]
    assert len(names) == len(set(names))


def test_each_environment_and_program_is_used() -> None:
    assert TABLE.environment.keys() == {row.environment for row in TABLE.breakage}
    assert TABLE.program.keys() == {row.program for row in TABLE.breakage}
