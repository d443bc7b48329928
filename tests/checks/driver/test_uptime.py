"""Machines with B200 that hang after 66 days of uptime."""

from typing import Any

import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.driver.uptime_hang import uptime_hang
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.checks.nvidia_machines import WHY, event, having

DAY = 86400.0
SIGN = event("driver-error", "NVRM: knvlinkDiscoverPostRxDetLinks_GH100: Getting peer1's postRxDetLinkMask failed!")
FINE: dict[str, Any] = {"nvidia__nvml__hung": None, "nvidia__nvml__code": 0}


def up(days: float, **changes: Any) -> Facts:
    """A machine with one B200 that hangs after so many days."""
    hangs: dict[str, Any] = {"nvidia__nvml__hung": "init", "nvidia__nvml__code": Unknown("NVML did not answer in time")}
    driver: dict[str, Any] = {"nvidia__kernel__loaded": "570.133.20", "nvidia__kernel__flavor": "open"}
    return having(pci__0__chip="GB100", host__uptime=days * DAY, **(hangs | driver | changes))


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        (up(66.5), Severity.ERROR),
        (up(200), Severity.ERROR),
        (up(66.5, nvidia__kernel__loaded="590.48.01", log__events=(SIGN,)), Severity.ERROR),  # by its own lines
        (up(60, **FINE), Severity.ADVICE),
        (up(66.5, nvidia__kernel__loaded="590.48.01", log__events=()), "pass"),
        (up(66.5, nvidia__kernel__flavor="proprietary"), "pass"),
        (up(66.5, **FINE), "pass"),  # it responds: it is not hit
        (up(60), "pass"),  # it hangs, and of something else
        (up(59, **FINE), "pass"),
        (up(60, nvidia__kernel__loaded="590.48.01", **FINE), "pass"),
        (having(up(66.5), host__uptime=WHY), "unknown"),
        (up(66.5, nvidia__kernel__loaded=Unknown("nobody looked")), "unknown"),
        (having(up(66.5), pci__0__chip="GH100"), "pass"),
        (up(66.5, **FINE, nvidia__cuda__hung="cuInit"), Severity.ERROR),
    ],
)
def test_uptime_hang(facts: Facts, outcome: Severity | str) -> None:
    (verdict,) = run(uptime_hang, facts)
    found = verdict.severity if verdict.outcome == "problem" else verdict.outcome.value
    assert found == outcome


def test_what_it_shows() -> None:
    (verdict,) = run(uptime_hang, up(67.25, log__events=(SIGN,)))
    assert verdict.message == (
        "This machine has been up for 67.2 days, and driver 570.133.20 does not respond: with B200 it hangs after 66.5 "
        "days of uptime."
    )
    assert verdict.problem is not None
    assert verdict.problem.evidence == (SIGN.text,)
    assert verdict.fixes[0].commands == ("sudo reboot",)
