"""Releases of the kernel and of AMD's driver package with a known bug, where the log shows it."""

import msgspec
import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.device.unexplained_log_errors import unexplained_log_errors
from gpudoctor.checks.rocm.hangs import hangs
from gpudoctor.checks.rocm.not_driven import not_driven
from gpudoctor.checks.rocm.page_faults import page_faults
from gpudoctor.facts import Facts, LogEvent
from gpudoctor.facts.host import Distribution
from tests.builders import ask, change, nvidia_host
from tests.checks.amd_machines import RADEON, amd_host
from tests.checks.rocm.test_cards import logged, reported
from tests.checks.rocm.test_not_driven import INIT, NO_DRIVER, undriven

BAD, GOOD = "6.17.9-300.fc43.x86_64", "6.17.7-300.fc43.x86_64"
ASKED = reported("amdgpu-firmware", 'Failed to get gpu_info firmware "cyan_skillfish_gpu_info.bin"')
FEDORA = Distribution(id="fedora", version="43")


def board(*events: LogEvent, kernel: str = BAD, others: tuple[str, ...] = (GOOD,)) -> Facts:
    """A BC-250 on which amdgpu gave up; nobody installed ROCm."""
    facts = change(undriven("gfx1013", *(events or (ASKED, INIT))), "host.kernel.release", kernel)
    for path, value in (("amd.rocm", None), ("amd.rocm_path", None), ("pythons", ())):
        facts = change(facts, path, value)
    return change(change(facts, "host.kernel.others", others), "host.distribution", FEDORA)


def test_amdgpu_failed_though_nobody_installed_rocm() -> None:
    (verdict,) = run(not_driven, board())
    assert verdict.severity.value == "fail"
    assert verdict.message == (
        f"{NO_DRIVER} Kernel {BAD} has a known bug: amdgpu asks for cyan_skillfish_gpu_info.bin, a file that no "
        "release of linux-firmware has, and gives up on the GPU. Kernels up to 6.17.7 and from 6.17.11 on work."
    )
    boot, newer, hold = verdict.fixes
    assert boot.commands == (f"sudo grubby --set-default /boot/vmlinuz-{GOOD}", "sudo reboot")
    assert newer.commands == ("sudo dnf upgrade --refresh 'kernel*'", "sudo reboot")
    assert hold.later


@pytest.mark.parametrize("kernel", ["6.17.7-300.fc43.x86_64", "6.17.11-300.fc43.x86_64", "6.18.2-200.fc43.x86_64"])
def test_other_kernels_lack_the_firmware(kernel: str) -> None:
    assert ask(not_driven, board(kernel=kernel)) == [("problem", f"{NO_DRIVER} Its firmware is missing.")]


def test_a_kernel_with_the_bug_is_not_offered() -> None:
    kernels = ("6.12.8-200.fc41.x86_64", "6.17.8-300.fc43.x86_64")
    assert run(not_driven, board(others=kernels))[0].fixes[0].commands[0].endswith(kernels[0])
    newer, older = run(not_driven, board(others=kernels[1:]))[0].fixes
    assert newer.message.startswith("Install kernel 6.17.11 or newer")
    assert older.commands == ("dnf list --showduplicates kernel-core",)


def test_next_to_a_gpu_that_computes_it_is_a_warning() -> None:
    facts = board()
    both = msgspec.structs.replace(facts, pci=(*facts.pci, *nvidia_host().pci))  # type: ignore[misc]
    assert run(not_driven, both)[0].severity.value == "warn"
    silent = change(both, "log.events", ())
    assert ask(not_driven, silent) == [("skipped", "")]  # a card for the display, and nobody complains


def test_errors_of_amdgpu_count_without_rocm() -> None:
    facts = change(change(amd_host(), "amd.rocm", None), "amd.rocm_path", None)
    facts = change(change(facts, "pythons", ()), "log.events", ())
    error = LogEvent(kind="driver-error", text="amdgpu: it failed", gpu="0000:01:00.0", what={"module": "amdgpu"})
    assert ask(unexplained_log_errors, facts) == [("pass", "")]
    assert [o for o, _ in ask(unexplained_log_errors, change(facts, "log.events", (error,)))] == ["problem"]


@pytest.mark.parametrize(("kernel", "known"), [("6.18.13.arch1-1", True), ("6.19.10.arch1-1", False)])
def test_a_scheduler_that_a_later_kernel_mends(kernel: str, known: bool) -> None:
    krackan = msgspec.structs.replace(RADEON, gfx="gfx1152", integrated=True)
    silent = reported("kfd-hang", "MES failed to respond to msg=REMOVE_QUEUE")
    facts = change(logged(silent, facts=amd_host((krackan,))), "host.kernel.release", kernel)
    (verdict,) = run(hangs, facts)
    assert ("known bug" in verdict.message) is known
    assert verdict.fixes[0].message.startswith("Install kernel 6.19.10 or newer") is known


def test_a_hang_counts_without_rocm() -> None:
    facts = change(change(change(mint(), "amd.rocm", None), "amd.rocm_path", None), "pythons", ())
    assert [outcome for outcome, _ in ask(hangs, facts)] == ["problem"]
    assert ask(hangs, change(facts, "log.events", ())) == [("skipped", "")]


TIMEOUT = reported("amdgpu-ring-timeout", "ring comp_1.1.0 timeout, signaled seq=125, emitted seq=129")
FAULT, CLIENT = reported("amdgpu-fault", "[gfxhub] page fault"), reported("amdgpu-fault-client", "CPC")


def mint(package: str = "1:6.16.13.30300000-2278356.24.04", kernel: str = "6.17.0-14-generic") -> Facts:
    """A desktop with AMD's own driver whose compute rings time out."""
    facts = logged(TIMEOUT, FAULT, CLIENT, FAULT, CLIENT, facts=amd_host(version="6.16.13"))
    facts = change(facts, "amd.packages", (("amdgpu-dkms", package, "ii"),))
    facts = change(facts, "host.kernel.release", kernel)
    return change(facts, "host.distribution", Distribution(id="linuxmint", like=("ubuntu", "debian"), version="22.3"))


def test_amds_package_on_a_kernel_that_it_does_not_fit() -> None:
    (verdict,) = run(hangs, mint())
    assert "The package amdgpu-dkms 6.16.13.30300000 has a known bug: on kernel 6.17" in verdict.message
    remove, newer = verdict.fixes
    assert remove.commands[0] == "sudo apt-get purge amdgpu-dkms amdgpu-dkms-firmware"
    assert "30.30.1 (ROCm 7.2.1) or newer" in newer.message
    assert "firmware is likely broken" not in run(page_faults, mint())[0].message


@pytest.mark.parametrize(
    ("identity", "first"),
    [("arch", ("sudo pacman -Rns amdgpu-dkms",)), ("nixos", ()), ("void", ())],  # a reboot alone removes nothing
)
def test_it_is_removed_where_the_package_manager_is_known(identity: str, first: tuple[str, ...]) -> None:
    facts = change(mint(), "host.distribution", Distribution(id=identity))
    assert run(hangs, facts)[0].fixes[0].commands[:1] == first


@pytest.mark.parametrize(
    "facts",
    [
        mint(package="1:6.16.13.30300100-2303411.24.04"),
        mint(kernel="6.14.0-37-generic"),
        change(mint(), "amd.version", None),  # the kernel's own amdgpu is loaded
        change(mint(), "amd.packages", ()),
    ],
)
def test_other_pairs_have_no_known_bug(facts: Facts) -> None:
    (verdict,) = run(hangs, facts)
    assert "known bug" not in verdict.message
    boots = [
        fix for fix in run(hangs, change(facts, "host.kernel.others", ("6.8.0-90-generic",)))[0].fixes if fix.commands
    ]
    assert "boot 6.8.0-90-generic, which is installed" in boots[0].message


@pytest.mark.parametrize(("gfx", "offered"), [("gfx1103", True), ("gfx1151", True), ("gfx1100", False)])
def test_integrated_gpus_may_do_without_saved_waves(gfx: str, offered: bool) -> None:
    own = msgspec.structs.replace(RADEON, gfx=gfx, integrated=True)
    silent = reported("kfd-hang", "MES failed to respond to msg=REMOVE_QUEUE")
    fixes = run(hangs, logged(silent, facts=amd_host((own,))))[0].fixes
    assert any("amdgpu.cwsr_enable=0" in fix.message for fix in fixes) is offered
