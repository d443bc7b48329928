"""Faults of the driver that come again and again."""

from gpudoctor import catalogue
from gpudoctor.check_engine import run
from tests.checks.nvidia_machines import WHY, having, logged, xid

OLD = having(gpus__0__recovery_action=WHY)


def test_a_fault_that_repeats_under_the_newest_branch_asks_for_another_release_of_the_driver() -> None:
    check = catalogue.load(["device.xid-driver"])[0]
    newest = having(
        OLD, nvidia__kernel__loaded="580.105.08", nvidia__kernel__packages=(("nvidia-utils-580", "1", "ii"),)
    )
    fixes = {n: [fix.message for fix in run(check, logged(*[xid(109)] * n, facts=newest))[0].fixes] for n in (1, 3)}
    assert len(fixes[1]) == 1
    assert [message.partition(":")[0] for message in fixes[3][1:]] == [
        "If it happens again, driver 580.105.08 is at fault",
        "If it began with an update to 580.105.08",
    ]
