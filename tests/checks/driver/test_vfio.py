"""A GPU that is reserved for a virtual machine, and that no virtual machine can use."""

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Outcome, Severity, run
from gpudoctor.facts import LogEvent
from tests.checks.nvidia_machines import having, logged, unloaded

A, OTHER = "0000:01:00.0", "0000:02:00.0"
HELD = LogEvent(kind="vfio-window-held", text="BAR 1: can't reserve [mem 0xe0000000-0xefffffff 64bit pref]", gpu=A)
STUCK = LogEvent(kind="vfio-not-ready", text="not ready 65535ms after FLR; giving up", gpu=A)
LENT = unloaded(pci__0__driver="vfio-pci")
(CHECK,) = catalogue.load(["driver.vfio-in-the-way"])


@pytest.mark.parametrize(
    ("event", "words", "commands"),
    [
        (HELD, "the host's boot framebuffer holds its memory", ("/sys/bus/platform/drivers", "sysfb_init")),
        (STUCK, "it did not come back from its last reset", ("poweroff", "echo bus | sudo tee")),
    ],
)
def test_no_guest_can_use_it(event: LogEvent, words: str, commands: tuple[str, ...]) -> None:
    (verdict,) = run(CHECK, logged(event, facts=LENT))
    assert verdict.problem is not None
    assert words in verdict.problem.message
    assert A in verdict.problem.message
    assert verdict.severity is Severity.WARNING
    typed = " ".join(line for fix in verdict.fixes for line in (*fix.commands, fix.message))
    assert all(command in typed for command in commands)
    assert "modprobe nvidia" not in typed


@pytest.mark.parametrize("event", [HELD, STUCK])
def test_the_card_of_another_line_is_only_reserved(event: LogEvent) -> None:
    other = LogEvent(kind=event.kind, text=event.text, gpu=OTHER)
    (verdict,) = run(CHECK, logged(other, facts=LENT))
    assert verdict.problem is not None
    assert "so NVIDIA's driver cannot claim it on this host" in verdict.problem.message


@pytest.mark.parametrize("event", [HELD, STUCK])
def test_a_card_that_the_host_has_again_is_well(event: LogEvent) -> None:
    assert [v.outcome for v in run(CHECK, having(logged(event)))] == [Outcome.PASS]
