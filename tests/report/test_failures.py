"""A report as an exception."""

import pytest

from gpudoctor import FailuresError, check
from gpudoctor.report.model import Report
from tests.checks import healthy_nvidia as nv
from tests.machines import driver, hardware


def test_nothing_failed() -> None:
    check(facts=nv.hgx(nv.H100, 4)).raise_for_failures(warnings=True)
    Report().raise_for_failures()


def test_a_failure_says_what_to_type() -> None:
    report = check(facts=driver.module_not_loaded())
    with pytest.raises(FailuresError) as raised:
        report.raise_for_failures()
    assert raised.value.report is report
    lines = str(raised.value).splitlines()
    assert lines[0].startswith("driver.not-loaded: The kernel module nvidia is not loaded")
    assert "  sudo modprobe nvidia" in lines


def test_warnings_count_where_that_is_wanted() -> None:
    report = check(facts=hardware.power_supply_brakes())
    report.raise_for_failures()
    with pytest.raises(FailuresError) as raised:
        report.raise_for_failures(warnings=True)
    assert str(raised.value).count("health.power-brake") == 1, "eight GPUs with the same are told once"
