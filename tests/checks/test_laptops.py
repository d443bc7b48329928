"""GPUs that sleep, wait for authorisation or keep the computer awake, and options that the driver does not know."""

from typing import Any

import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.device.bar_unassigned import bar_unassigned
from gpudoctor.checks.device.switched_off import switched_off
from gpudoctor.checks.device.thunderbolt_unauthorized import thunderbolt_unauthorized
from gpudoctor.checks.device.wake_failed import wake_failed
from gpudoctor.checks.driver.stopped_by_ibt import stopped_by_ibt
from gpudoctor.checks.driver.suspend_refused import suspend_refused
from gpudoctor.checks.driver.unknown_option import unknown_option
from gpudoctor.facts import Facts, LogEvent, Thunderbolt
from gpudoctor.maybe import Unknown
from tests.builders import ask, nvidia_host, plain_host
from tests.checks.nvidia_machines import event, having

WHY = Unknown("nobody looked")
STUCK = event("wake-failed", "nvidia 0000:01:00.0: Unable to change power state from D3cold to D0", "0000:01:00.0")
ASLEEP: dict[str, Any] = {"log__events": (STUCK,), "gpus": (), "nvidia__nvml__code": 9}


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        (having(**ASLEEP), "problem"),
        (having(log__events=(STUCK,)), "pass"),  # it answers
        (having(log__events=(STUCK,), gpus__0__status="lost"), "problem"),
        (having(**ASLEEP, pci__0__address="0000:05:00.0"), "pass"),  # another device's line
        (having(**(ASLEEP | {"log__events": WHY})), "pass"),  # the log is evidence; without it nothing is said
        (having(**ASLEEP, pci=()), "skipped"),
    ],
)
def test_wake_failed(facts: Facts, outcome: str) -> None:
    message = (
        "The GPU at 0000:01:00.0 (AD102 [GeForce RTX 4090]) was suspended (D3cold), and the kernel could not wake it."
    )
    assert ask(wake_failed, facts) == [(outcome, message if outcome == "problem" else "")]


@pytest.mark.parametrize(
    ("state", "outcome"),
    [("D3cold", "problem"), ("D3hot", "pass"), ("D0", "pass"), (None, "pass"), (WHY, "unknown")],
)
def test_a_card_of_vfio_that_is_stuck(state: object, outcome: str) -> None:
    facts = having(**ASLEEP, pci__0__driver="vfio-pci", pci__0__power_state=state)
    assert [said for said, _ in ask(wake_failed, facts)] == [outcome]
    quiet = having(gpus=(), nvidia__nvml__code=9, pci__0__driver="vfio-pci", pci__0__power_state="D3cold")
    assert ask(wake_failed, quiet) == [("pass", "")]  # asleep, as vfio-pci leaves a card that nobody uses
    unreset = event("vfio-not-ready", "not ready 65535ms after FLR; giving up", "0000:01:00.0")
    after = having(facts, log__events=(unreset, STUCK))
    assert [said for said, _ in ask(wake_failed, after)] == ["pass"]  # a reset that failed explains it
    if outcome == "problem":
        fixes = run(wake_failed, facts)[0].fixes
        assert "disable_idle_d3=1" in fixes[1].commands[0]


BOX = Thunderbolt(place="0-1", name="Core X Chroma", vendor="Razer", authorized=False)
DOCK = Thunderbolt(place="0-3", name="Thunderbolt Dock", vendor="CalDigit", authorized=False)


def unplugged(*devices: Thunderbolt, **changes: Any) -> Facts:
    """A laptop with the driver's libraries and no GPU on the bus."""
    gone: dict[str, Any] = {"pci": (), "gpus": (), "host__thunderbolt": devices, "nvidia__kernel__loaded": None}
    return having(nvidia_host(), **(gone | changes))


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        (unplugged(BOX), "Razer Core X Chroma"),
        (unplugged(DOCK, BOX), "Razer Core X Chroma"),
        (unplugged(Thunderbolt(place="0-1", name="Core X", authorized=True)), None),
        (unplugged(Thunderbolt(place="0-1", name="Core X", authorized=WHY)), None),
        (unplugged(), None),
        (having(nvidia_host(), host__thunderbolt=(BOX,)), None),  # the GPU is there
    ],
)
def test_thunderbolt_unauthorized(facts: Facts, named: str | None) -> None:
    message = f"{named} on Thunderbolt is not authorized, so a GPU in it is not on the PCI bus."
    assert ask(thunderbolt_unauthorized, facts) == [("problem", message) if named else ("pass", "")]


@pytest.mark.parametrize(
    ("device", "named"),
    [(DOCK, "CalDigit Thunderbolt Dock"), (Thunderbolt(place="0-1", authorized=False), "the device 0-1")],
)
def test_a_thunderbolt_device_that_may_be_no_box_for_a_card(device: Thunderbolt, named: str) -> None:
    (verdict,) = run(thunderbolt_unauthorized, unplugged(device))
    assert verdict.message == (
        f"{named} on Thunderbolt is not authorized; if it contains a GPU, that one is not on the PCI bus."
    )
    assert verdict.severity is Severity.ADVICE


def test_thunderbolt_that_nobody_looked_at_and_nobody_needs() -> None:
    unknown = unplugged(host__thunderbolt=WHY)
    assert ask(thunderbolt_unauthorized, unknown) == [("unknown", "nobody looked")]
    assert ask(thunderbolt_unauthorized, having(plain_host(), host__thunderbolt=(DOCK,))) == [("skipped", "")]


REFUSED = event("suspend-refused", "NVRM: GPU 0000:01:00.0: PreserveVideoMemoryAllocations module parameter is set.")


def test_suspend_refused() -> None:
    message = "The driver refused to suspend: its services for suspend did not run."
    assert ask(suspend_refused, having(log__events=(REFUSED,))) == [("problem", message)]
    assert ask(suspend_refused, having(log__events=(event("suspend"),))) == [("pass", "")]
    assert ask(suspend_refused, having(log__events=WHY)) == [("pass", "")]


TYPO = LogEvent(
    kind="unknown-parameter",
    text="nvidia: unknown parameter 'NVreg_EnableGpuFirmwares' ignored",
    what={"module": "nvidia", "text": "NVreg_EnableGpuFirmwares"},
)


def typo(**changes: Any) -> Facts:
    """A machine whose driver was given an option that it does not know."""
    plain: dict[str, Any] = {
        "log__events": (TYPO,),
        "nvidia__kernel__options": {"nvidia.NVreg_EnableGpuFirmwares": "0"},
        "nvidia__kernel__parameters": {"EnableGpuFirmware": "18", "EnableMSI": "1"},
    }
    return having(**(plain | changes))


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        (typo(), "problem"),
        (typo(nvidia__kernel__options={}), "pass"),  # it is not set any more
        (typo(log__events=()), "pass"),
        (typo(log__events=WHY), "pass"),
    ],
)
def test_unknown_option(facts: Facts, outcome: str) -> None:
    message = "The driver ignores NVreg_EnableGpuFirmwares: there is no such option."
    assert ask(unknown_option, facts) == [(outcome, message if outcome == "problem" else "")]


def test_the_option_that_may_be_meant() -> None:
    (verdict,) = run(unknown_option, typo())
    assert verdict.fixes[0].message.endswith("Did you mean NVreg_EnableGpuFirmware?")
    (verdict,) = run(unknown_option, typo(nvidia__kernel__parameters={}))
    assert verdict.fixes[0].message.endswith("This driver may no longer have it.")


def test_what_the_kernel_says_of_windows_is_evidence_alone() -> None:
    said = event("bar-no-space", "pci 0000:01:00.0: BAR 1: no space for [mem size 0x10000000]", "0000:01:00.0")
    ill = having(log__events=(said,), gpus=(), pci__0__bar1=0, pci__0__driver=None)
    (verdict,) = run(bar_unassigned, ill)
    assert verdict.problem is not None
    assert verdict.problem.evidence == (said.text,)
    assert ask(bar_unassigned, having(log__events=(said,))) == [("pass", "")]


def trapped(symbol: str, module: str | None = None, **changes: Any) -> Facts:
    """A machine whose kernel stopped a module."""
    what = {"text": symbol} | ({"module": module} if module else {})
    line = LogEvent(kind="ibt-trap", text=f"traps: Missing ENDBR: {symbol}", what=what)
    return having(**({"log__events": (line,), "gpus": (), "nvidia__kernel__loaded": None} | changes))


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        (trapped("init_module+0x0/0x10", "nvidia"), "problem"),
        (trapped("_portMemAllocatorAllocNonPagedWrapper+0x0/0x10"), "problem"),
        (trapped("_nv011468rm+0x0/0x10"), "problem"),
        (trapped("init_module+0x0/0x10", "vboxdrv"), "pass"),
        (trapped("ixgbe_probe+0x0/0x10"), "pass"),
        (trapped("init_module+0x0/0x10", "nvidia", gpus=nvidia_host().gpus), "pass"),
        (trapped("init_module+0x0/0x10", "nvidia", log__events=WHY), "pass"),
    ],
)
def test_stopped_by_ibt(facts: Facts, outcome: str) -> None:
    message = "The kernel stopped NVIDIA's module: it was built without ENDBR instructions (IBT)."
    assert ask(stopped_by_ibt, facts) == [(outcome, message if outcome == "problem" else "")]


@pytest.mark.parametrize(
    ("module", "working", "outcome"), [("nvidia", False, "problem"), ("other", False, "pass"), ("nvidia", True, "pass")]
)
def test_stopped_by_bti(module: str, working: bool, outcome: str) -> None:
    header = LogEvent(kind="bti-trap", text="Internal error: Oops - BTI: 0000000036000003 [#1] PREEMPT SMP")
    place = LogEvent(kind="oops-place", text="pc : init_module+0x0/0x20", what={"module": module})
    facts = having(log__events=(header, place), nvidia__kernel__loaded=None)
    facts = facts if working else having(facts, gpus=())
    (verdict,) = run(stopped_by_ibt, facts)
    assert verdict.outcome == outcome
    assert any("arm64.nobti" in command for fix in verdict.fixes for command in fix.commands) == (outcome == "problem")


DISABLED = "/sys/devices/platform/asus-nb-wmi/dgpu_disable"


def test_the_firmware_gives_back_what_it_switched_off() -> None:
    facts = unplugged(nvidia__kernel__switch="asus-firmware", nvidia__kernel__switch_files=(DISABLED,))
    (verdict,) = run(switched_off, facts)
    assert verdict.message == (
        "The laptop's firmware has switched the NVIDIA GPU off (dgpu_disable is 1), so it is not on the bus."
    )
    assert [f.commands for f in verdict.fixes] == [(f"echo 0 | sudo tee {DISABLED}", "sudo reboot")]
    assert ask(switched_off, having(facts, pci=nvidia_host().pci)) == [("pass", "")]
