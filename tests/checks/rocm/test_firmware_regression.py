"""Releases of AMD's firmware with a known bug."""

import msgspec
import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.rocm.firmware_regression import firmware_regression
from gpudoctor.checks.rocm.page_faults import page_faults
from gpudoctor.facts import Facts, LogEvent
from gpudoctor.facts.host import Distribution
from gpudoctor.fixes import amd
from gpudoctor.maybe import Unknown
from gpudoctor.root_causes import findings
from tests.builders import ask, change
from tests.checks.amd_machines import RADEON, amd_host

FEDORA = Distribution(id="fedora", version="43")
BAD = ("amd-gpu-firmware", "20251125-1.fc43", "ii")
WHY = Unknown("rpm: it timed out")
BUG = "its scheduler firmware (MES 0x83) ends ROCm programs with page faults and hangs."


def machine(gfx: str = "gfx1151", package: object = BAD, distribution: Distribution = FEDORA) -> Facts:
    halo = msgspec.structs.replace(RADEON, name="Radeon 8060S", gfx=gfx, integrated=True)
    facts = change(amd_host((halo,)), "host.distribution", distribution)
    return change(facts, "amd.packages", package if isinstance(package, Unknown) else (package,))


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (machine(), ("problem", f"amd-gpu-firmware 20251125-1.fc43 has a known bug: on gfx1151 {BUG}")),
        (machine("gfx1150"), ("problem", f"amd-gpu-firmware 20251125-1.fc43 has a known bug: on gfx1150 {BUG}")),
        (machine("gfx1100"), ("pass", "")),
        (machine(package=("amd-gpu-firmware", "20251111-1.fc43", "ii")), ("pass", "")),
        (machine(package=("amd-gpu-firmware", "20260110-1.fc43", "ii")), ("pass", "")),
        (machine(package=("linux-firmware", "20251125-1.fc43", "ii")), ("pass", "")),  # not that of the GPUs
        (machine(package=("amd-gpu-firmware", "20251125-1.fc43", "rc")), ("pass", "")),
        (machine(package=("amd-gpu-firmware", "unreadable", "ii")), ("pass", "")),
        (machine(distribution=Distribution(id="slackware")), ("pass", "")),
        (change(machine(), "amd.version", "6.14.14"), ("pass", "")),  # AMD's driver loads its own
        (machine(package=WHY), ("unknown", "rpm: it timed out")),
    ],
)
def test_firmware_regression(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(firmware_regression, facts) == [verdict]


def test_without_rocm_whatever_computes_here_uses_these_gpus() -> None:
    bare = change(change(machine(), "amd.rocm", None), "pythons", ())
    assert [verdict for verdict, _ in ask(firmware_regression, bare)] == ["problem"]


def test_a_bug_that_shows_in_the_log_counts_only_there() -> None:
    facts = machine("gfx1100")
    said = "amdgpu: SMU: I'm not done with your previous command: SMN_C2PMSG_66:0x0000003D"
    error = LogEvent(kind="driver-error", text=said, gpu=RADEON.address, what={"module": "amdgpu"})  # type: ignore[arg-type]
    assert ask(firmware_regression, facts) == [("pass", "")]
    (verdict,) = run(firmware_regression, change(facts, "log.events", (error,)))
    assert "on gfx1100 its power management firmware (SMU) stops responding under load" in verdict.message
    assert verdict.problem
    assert verdict.problem.evidence == (said,)


def test_what_is_typed_and_what_follows() -> None:
    fault = LogEvent(kind="amdgpu-fault", text="[gfxhub] page fault", gpu=RADEON.address, what={})  # type: ignore[arg-type]
    facts = change(machine(), "log.events", (fault,))
    verdicts = [*run(firmware_regression, facts), *run(page_faults, facts)]
    (finding,) = findings(verdicts)[0]
    assert (finding.root.check.id, len(finding.consequences)) == ("rocm.firmware-regression", 1)
    newer, older = finding.root.fixes
    assert "dnf upgrade --refresh amd-gpu-firmware" in newer.commands[0]
    assert older.commands[:2] == (
        "sudo dnf install fedora-repos-archive",
        "sudo dnf --enablerepo=updates-archive downgrade amd-gpu-firmware-20251111",
    )


def test_firmware_is_the_hosts() -> None:
    facts = change(machine(), "host.container", "docker")
    for fix in amd.newer_firmware(facts), *amd.older_firmware(facts, "20251111"):
        assert (fix.place, fix.commands) == ("outside", ())
        assert fix.message.startswith("On the host: ")


def test_firmware_of_an_image() -> None:
    facts = change(machine(), "nvidia.kernel.image_keys", ())
    assert amd.newer_firmware(facts).commands == ("sudo rpm-ostree upgrade", "sudo reboot")
    assert amd.older_firmware(facts)[0].commands[1:] == ("sudo rpm-ostree rollback", "sudo reboot")
