"""Faults of the driver that come again and again."""

import msgspec
import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Severity, judge, run
from gpudoctor.checks.device.program_faults import program_faults
from gpudoctor.facts import Facts
from gpudoctor.root_causes import findings
from tests.builders import change
from tests.checks.nvidia_machines import WHY, event, failing, having, logged, xid

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


BAD, GOOD = "595.84", "580.173.02"
LARGE, SMALL = "6.12.0-124.8.1.el10_1.aarch64+64k", "6.12.0-124.8.1.el10_1.aarch64"
UNMAPPED = (
    "NVRM: Xid (PCI:0000:01:00): 31, pid=4711, name=python, MMU Fault: Fault is of type FAULT_PTE ACCESS_TYPE_VIRT_READ"
)
INVALID = (
    "NVRM: Xid (PCI:0000:01:00): 31, pid=4711, name=python, MMU Fault: Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"
)


def faulted(driver: str, kernel: str, text: str = UNMAPPED) -> Facts:
    """A program was stopped; the other kernel is installed as well."""
    host = having(nvidia__kernel__loaded=driver, host__kernel__release=kernel, host__kernel__others=(SMALL,))
    fault = msgspec.structs.replace(xid(31, 4711, text=text), seconds=60.0)
    return change(logged(fault, facts=host), "log.now", 100.0)


def test_pages_of_64_kib_are_at_fault_and_not_the_program() -> None:
    (verdict,) = run(program_faults, faulted(BAD, LARGE))
    assert verdict.severity is Severity.WARNING
    assert "Driver 595.84 has a known bug: on kernels with pages of 64 KiB" in verdict.message
    boot, older = verdict.fixes
    assert SMALL in boot.message
    assert "580" in older.message


@pytest.mark.parametrize(
    "facts",
    [faulted(GOOD, LARGE), faulted(BAD, SMALL), faulted(BAD, LARGE, INVALID)],
    ids=["driver", "kernel", "fault"],
)
def test_elsewhere_the_program_is(facts: Facts) -> None:
    (verdict,) = run(program_faults, facts)
    assert verdict.severity is Severity.ADVICE
    assert "known bug" not in verdict.message


STUCK = failing(999, gpus__0__recovery_action=WHY)
ASLEEP = (event("suspend", "PM: suspend entry (deep)"), event("resume", "PM: suspend exit"))


@pytest.mark.parametrize(
    ("facts", "root"),
    [
        (logged(xid(8), facts=STUCK), "device.xid-driver"),
        (logged(*ASLEEP, xid(8), facts=STUCK), "device.xid-driver"),
        (logged(xid(8), *ASLEEP, facts=STUCK), "driver.uvm-stale"),  # the machine slept since
        (logged(xid(37), facts=STUCK), "driver.uvm-stale"),  # may be ignored
        (failing(999), "driver.uvm-stale"),
    ],
)
def test_a_gpu_that_hangs_is_why_cuda_does_not_start(facts: Facts, root: str) -> None:
    chosen = catalogue.load(["device.xid-driver", "driver.uvm-stale"])
    found, _ = findings(judge(facts, chosen))
    assert [one.root.check.id for one in found] == [root]


def test_one_hang_alone_is_of_the_program() -> None:
    (verdict,) = run(catalogue.load(["device.xid-driver"])[0], logged(xid(8), facts=OLD))
    assert verdict.problem is None


def test_a_gpu_that_hangs_is_reset() -> None:
    fix = run(catalogue.load(["device.xid-driver"])[0], logged(xid(8), facts=STUCK))[0].fixes[0]
    assert fix.message.startswith("Reset the GPU; where that hangs or does not help, reboot.")


@pytest.mark.parametrize(
    ("code", "virtual", "first"),
    [
        ("0x30:0xffff:650", "kvm", "On the hypervisor, save"),
        ("0x30:0xffff:650", None, "Shut down, disconnect"),
        ("0x26:0x56:1463", "kvm", "Shut down this virtual machine"),
    ],
)
def test_a_guest_is_given_the_video_bios(code: str, virtual: str | None, first: str) -> None:
    host = having(failing(100, gpus=()), host__virtual=virtual)
    refused = msgspec.structs.replace(event("rm-init-failed", gpu="0000:01:00.0"), what={"code": code})
    fix = run(catalogue.load(["device.init-failed"])[0], logged(refused, facts=host))[0].fixes[0]
    assert fix.message.startswith(first)


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("NVIDIA GeForce RTX 3060 Laptop GPU", "Let the kernel assign"),
        ("NVIDIA GeForce RTX 3060", "In the firmware setup"),
    ],
)
def test_a_laptop_has_no_such_setting(name: str, first: str) -> None:
    refused = event("bar-invalid", "NVRM: This PCI I/O region is invalid: BAR0 is 0M @ 0x0", "0000:01:00.0")
    facts = logged(refused, facts=having(failing(100, gpus=()), pci__0__name=name))
    (verdict,) = run(catalogue.load(["device.bar-unassigned"])[0], facts)
    assert "BAR0 is 0M" in verdict.message
    assert verdict.fixes[0].message.startswith(first)
