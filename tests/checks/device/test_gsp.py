"""The first start of the GSP firmware, which decides whether a power cycle or another release helps."""

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import run
from gpudoctor.facts import LogEvent
from tests.builders import ask
from tests.checks.device.test_log import CARD, SILENT, started
from tests.checks.nvidia_machines import event, having, logged

GSP_FAILED = catalogue.load(["device.gsp-failed"])[0]
REFUSED = (event("gsp-failed"), started("0x62:0x1f:2168"))
LATER = (event("gsp-wpr2"), started("0x62:0x40:2168"))


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (REFUSED, "the GSP firmware of driver 570.169 failed to start (0x62:0x1f:2168)."),
        (
            (*REFUSED, *LATER),
            "the GSP firmware of driver 570.169 failed to start (0x62:0x1f:2168). Later attempts find WPR2 already up.",
        ),
        ((event("gsp-failed"), started("0x62:0x65:2168")), "its GSP did not start."),
        ((event("gsp-failed"), started("0x61:0x56:2168")), "its GSP did not start."),
        ((event("gsp-failed"),), "its GSP did not start."),
    ],
)
def test_the_first_start_is_reported(events: tuple[LogEvent, ...], message: str) -> None:
    assert ask(GSP_FAILED, logged(*events, facts=SILENT)) == [("problem", f"{CARD}: {message}")]


@pytest.mark.parametrize("events", [LATER, (*LATER, *REFUSED)])
def test_a_gpu_that_was_left_in_a_bad_state_needs_a_power_cycle(events: tuple[LogEvent, ...]) -> None:
    (verdict,) = run(GSP_FAILED, logged(*events, facts=SILENT))
    assert verdict.problem is not None
    assert "WPR2 is already up" in verdict.problem.message
    assert verdict.fixes[0].action == "power-cycle"


def test_a_gpu_that_works_needs_nothing() -> None:
    assert ask(GSP_FAILED, logged(*REFUSED)) == [("pass", "")]


@pytest.mark.parametrize(
    ("driver", "generation", "known"),
    [
        ("570.195.03", "Blackwell", True),
        ("595.84", "Blackwell", True),
        ("570.172.08", "Blackwell", False),
        ("570.195.03", "Ada", False),
    ],
)
@pytest.mark.parametrize(
    ("distribution", "command"),
    [("arch", "ls -t /var/cache/pacman/pkg/nvidia-*"), ("fedora", "sudo dnf downgrade '*nvidia*'")],
)
def test_firmware_that_does_not_start_needs_another_release(
    driver: str, generation: str, known: bool, distribution: str, command: str
) -> None:
    facts = having(
        logged(*REFUSED, facts=SILENT),
        nvidia__kernel__loaded=driver,
        pci__0__generation=generation,
        host__distribution__id=distribution,
    )
    ((release, cycle),) = (verdict.fixes for verdict in run(GSP_FAILED, facts))
    assert release.commands == (command,)
    assert ("570.172.08 is known to work" in release.message) is known
    assert cycle.action == "power-cycle"


# Newer drivers try four times in one go and report the last attempt alone, which finds WPR2 up.
@pytest.mark.parametrize(
    ("first", "driver", "generation", "good"),
    [
        (event("gsp-refused"), "595.58.03", "Ada", ""),
        (event("gsp-refused"), "595.84", "Blackwell", "570.172.08"),
        (event("gsp-refused"), "595.84", "Ampere", ""),
    ],
)
def test_the_first_attempt_of_four_counts(first: LogEvent, driver: str, generation: str, good: str) -> None:
    facts = having(logged(first, *LATER, facts=SILENT), nvidia__kernel__loaded=driver, pci__0__generation=generation)
    (verdict,) = run(GSP_FAILED, facts)
    assert verdict.problem is not None
    assert f"the GSP firmware of driver {driver} failed to start" in verdict.problem.message
    release, cycle = verdict.fixes
    assert (f"{good} is known to work" in release.message) is bool(good)
    assert cycle.action == "power-cycle"


def test_a_booter_that_one_release_broke() -> None:
    broken = LogEvent(kind="gsp-refused", text="Booter failed with non-zero error code: 0xb", what={"code": "0xb"})
    facts = having(logged(broken, *LATER, facts=SILENT), nvidia__kernel__loaded="595.58.03", pci__0__generation="Ada")
    (verdict,) = run(GSP_FAILED, facts)
    assert "595.45.04 is known to work" in verdict.fixes[0].message
