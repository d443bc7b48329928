"""A card of AMD's that amdgpu does not drive: why, how bad that is, and where nobody should drive it."""

from typing import Any

import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.rocm.not_driven import not_driven
from gpudoctor.facts import Facts, LogEvent
from gpudoctor.maybe import Unknown
from tests.builders import ask, change
from tests.checks.amd_machines import IGPU, RADEON, amd_host
from tests.checks.rocm.test_cards import TWO, WORN, logged, reported, severity
from tests.checks.rocm.test_rocm import card, commands

WHY = Unknown("not to be seen")


def undriven(gfx: str = "gfx1201", *events: LogEvent, **changes: Any) -> Facts:
    """A card that amdgpu gave up."""
    facts = change(amd_host((card(gfx),), boards=(), **changes), "pci.0.driver", None)
    return logged(*events, facts=change(facts, "gpus", ()))


FIRMWARE = reported("amdgpu-firmware", "Direct firmware load for amdgpu/psp_14_0_3_sos.bin failed with error -2")
INIT = reported("amdgpu-init-failed", "Fatal error during GPU init")
VBIOS = reported("amdgpu-no-vbios", "Unable to locate a BIOS ROM", None)
NO_DRIVER = "The GPU at 0000:01:00.0 (Radeon) has no driver bound, although amdgpu is loaded."
NO_VBIOS = f"{NO_DRIVER} It has no video BIOS (VBIOS): amdgpu finds no BIOS ROM."
NO_ROOM = "Its probe ended with error -12 (ENOMEM), as it does where a memory window (BAR) has no address space."


def probe(code: int) -> LogEvent:
    """The driver core's line on a probe that failed."""
    text = f"amdgpu: probe of 0000:01:00.0 failed with error {code}"
    return LogEvent(kind="amdgpu-probe-failed", text=text, gpu="0000:01:00.0", code=code)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (undriven("gfx1030", INIT), NO_DRIVER),
        (undriven("gfx1030", FIRMWARE, INIT), f"{NO_DRIVER} Its firmware is missing."),
        (
            undriven("gfx1201", INIT),
            f"{NO_DRIVER} The running kernel is 6.8.0-60-generic; the first that supports it is 6.11.",
        ),
        (undriven("gfx1201", INIT, version="6.10.5"), NO_DRIVER),  # AMD's own driver
        (change(undriven("gfx1201"), "host.kernel.release", "5.14.0-570.el9.x86_64"), NO_DRIVER),
        (change(undriven("gfx1201"), "host.kernel.release", "6.14.2-arch1-1"), NO_DRIVER),
        (
            undriven("gfx1030", reported("amdgpu-unknown-block", "Failed to add gfx ip block(GC_HWIP:0xd0001)", None)),
            f"{NO_DRIVER} The running kernel does not support this generation.",
        ),
        (
            change(undriven("gfx90a", INIT), "pci.0.bar1", 0),
            f"{NO_DRIVER} The BIOS/UEFI assigned no address space to its memory (BAR).",
        ),
        (
            change(change(undriven("gfx90a", INIT), "pci.0.bar1", 0), "host.virtual", "kvm"),
            f"{NO_DRIVER} The hypervisor assigned no address space to its memory (BAR).",
        ),
        (undriven("gfx90a", INIT, probe(-12)), f"{NO_DRIVER} {NO_ROOM}"),
        (undriven("gfx1201", probe(-12), version="6.10.5"), f"{NO_DRIVER} {NO_ROOM}"),
        (undriven("gfx90a", INIT, probe(-12), probe(-22)), NO_DRIVER),  # it was loaded again, and failed otherwise
        (undriven("gfx90a", INIT, probe(-22)), NO_DRIVER),
        (undriven("gfx1035", VBIOS, INIT, probe(-22)), NO_VBIOS),
        (change(undriven("gfx900", VBIOS, INIT), "host.virtual", "kvm"), NO_VBIOS),
        (undriven("gfx906", INIT, probe(-110)), f"{NO_DRIVER} The GPU did not respond in time."),
        (undriven("gfx906", INIT, probe(-62)), f"{NO_DRIVER} The GPU did not respond in time."),
        (undriven("gfx90a", WORN, INIT), f"{NO_DRIVER} Its memory has too many bad pages."),
    ],
)
def test_not_driven(facts: Facts, message: str) -> None:
    assert ask(not_driven, facts) == [("problem", message)]


def test_not_driven_is_silent_where_nobody_should_drive_it() -> None:
    assert ask(not_driven, undriven("gfx701")) == [("pass", "")]  # radeon's generation
    assert ask(not_driven, change(undriven(), "amd.loaded", False)) == [("pass", "")]  # another check's
    host = change(amd_host((card("gfx942"), card("gfx942", 1)), boards=()), "pci.0.driver", "gim")
    assert ask(not_driven, change(change(host, "pci.1.driver", None), "gpus", ()))[1] == ("pass", "")
    assert ask(not_driven, change(undriven(), "pci.0.driver", WHY)) == [("unknown", "not to be seen")]
    assert ask(not_driven, change(undriven(), "amd.loaded", WHY)) == [("unknown", "not to be seen")]


def test_an_integrated_gpu_beside_a_card_that_works_is_worth_a_warning() -> None:
    both = change(change(amd_host((RADEON, IGPU)), "pci.1.driver", None), "gpus", (RADEON,))
    assert severity(not_driven, both) is Severity.WARNING
    assert severity(not_driven, undriven()) is Severity.ERROR


def test_a_card_that_computes_is_no_spare_one() -> None:
    second = change(change(TWO, "pci.1.driver", None), "gpus", (RADEON,))
    assert severity(not_driven, second) is Severity.ERROR
    alone = change(change(amd_host((IGPU,)), "pci.0.driver", None), "gpus", ())
    assert severity(not_driven, alone) is Severity.ERROR


def test_what_the_log_says_of_another_card_is_no_reason() -> None:
    two = change(change(TWO, "pci.1.driver", None), "gpus", (RADEON,))
    other = logged(FIRMWARE, reported("amdgpu-firmware", "failed to load gpu firmware", None), facts=two)
    message = "The GPU at 0000:02:00.0 (Radeon) has no driver bound, although amdgpu is loaded."
    assert ask(not_driven, other)[1] == ("problem", message)


def test_newer_kernels_have_a_name_on_ubuntu_only() -> None:
    fedora = change(undriven("gfx1201"), "host.distribution.id", "fedora")
    rolling = change(undriven("gfx1201"), "host.distribution.version", None)
    assert not any("hwe" in command for facts in (fedora, rolling) for command in commands(not_driven, facts))


def test_what_helps_a_card_that_is_not_driven() -> None:
    assert commands(not_driven, undriven("gfx1030", FIRMWARE))[0] == "sudo apt-get install linux-firmware"
    assert commands(not_driven, undriven("gfx1201"))[0] == "sudo apt install linux-generic-hwe-24.04"
    assert commands(not_driven, undriven("gfx90a", WORN)) == []


@pytest.mark.parametrize(
    ("virtual", "firsts"),
    [
        (None, ["Update the mainboard's"]),
        ("kvm", ["On the hypervisor,"]),
        ("other", ["On the hypervisor,", "Update the mainboard's"]),  # the guest shows the host's firmware tables
    ],
)
def test_whose_video_bios_it_is(virtual: str | None, firsts: list[str]) -> None:
    facts = change(undriven("gfx1036", VBIOS, INIT, probe(-22)), "host.virtual", virtual)
    (verdict,) = run(not_driven, facts)
    assert [" ".join(fix.message.split()[:3]) for fix in verdict.fixes] == firsts
