"""A GPU that an option powers off while it is idle, and that does not come back."""

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import run
from gpudoctor.facts import Facts
from tests.checks.nvidia_machines import WHY, failing, having, logged, xid

LOST = failing(999, gpus__0__status="lost")
HUNG = logged(xid(119), facts=having(gpus__0__recovery_action=WHY))


@pytest.mark.parametrize(("check", "facts"), [("device.fallen-off-the-bus", LOST), ("device.gsp-failed", HUNG)])
@pytest.mark.parametrize(("value", "named"), [("2", True), ("3", False), ("0", False), (None, False)])
def test_the_option_is_named_where_it_is_set(check: str, facts: Facts, value: str | None, named: bool) -> None:
    parameters = {} if value is None else {"DynamicPowerManagement": value}
    verdicts = run(catalogue.load([check])[0], having(facts, nvidia__kernel__parameters=parameters))
    commands = [command for verdict in verdicts for fix in verdict.fixes for command in fix.commands]
    assert any("NVreg_DynamicPowerManagement=0x00" in command for command in commands) == named
