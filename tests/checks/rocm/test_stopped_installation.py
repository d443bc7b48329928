"""AMD's driver whose installation stopped before ROCm came: somebody wanted it, and apt cannot go on."""

from typing import Any

import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.rocm.dkms_build_failed import dkms_build_failed
from gpudoctor.checks.rocm.half_installed import half_installed
from gpudoctor.facts import Dkms, Facts
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, nvidia_host
from tests.checks.amd_machines import amd_host, kfd
from tests.checks.rocm.test_rocm import commands

VERSION, WHY = "1:6.16.13.30300100-2303411.24.04", Unknown("not to be seen")
HALF = (("amdgpu-dkms", VERSION, "iF"), ("amdgpu-core", "1:7.2.70201", "ii"))
ADDED = (Dkms(module="amdgpu", version="6.16.13-2303411.24.04", state="added"),)
NAMED = f"amdgpu-dkms {VERSION} is half-configured (its postinst script failed)."
NOT_BUILT = "DKMS has not installed amdgpu for kernel 7.0.0-14-generic (amdgpu/6.16.13-2303411.24.04: added)."
OWN = " The kernel's own (in-tree) amdgpu is loaded instead"


def stopped(**amd: Any) -> Facts:
    """Ubuntu with kernel 7.0, the headers, and nothing yet that computes."""
    facts = amd_host(**({"rocm": None, "rocm_path": None, "packages": HALF, "dkms": ADDED} | amd))
    for path, value in {"pythons": (), "host.kernel.release": "7.0.0-14-generic", "host.kernel.headers": True}.items():
        facts = change(facts, path, value)
    return facts


@pytest.mark.parametrize(
    ("facts", "half", "build"),
    [
        (stopped(), (NAMED, Severity.WARNING), (f"{NOT_BUILT}{OWN}, and /dev/kfd opens.", Severity.ADVICE)),
        # who wants nothing of ROCm yet need not be in its group
        (stopped(kfd=(kfd(error="EACCES"),)), (f"{NAMED} Opening /dev/kfd fails with EACCES.", Severity.WARNING),
         (f"{NOT_BUILT}{OWN}.", Severity.ADVICE)),
        (stopped(kfd=(kfd(error="EACCES"),), rocm_path="/opt/rocm"),
         (f"{NAMED} Opening /dev/kfd fails with EACCES.", Severity.ERROR), (NOT_BUILT, Severity.ERROR)),
        (stopped(kfd=(), loaded=False), (f"{NAMED} Opening /dev/kfd fails with ENOENT.", Severity.ERROR),
         (NOT_BUILT, Severity.ERROR)),
        (stopped(packages=()), None, (f"{NOT_BUILT}{OWN}, and /dev/kfd opens.", Severity.ADVICE)),
        (stopped(packages=WHY, rocm_path=WHY), None, (f"{NOT_BUILT}{OWN}, and /dev/kfd opens.", Severity.ADVICE)),
        (stopped(dkms=WHY), (NAMED, Severity.WARNING), None),
        (stopped(dkms=None), (NAMED, Severity.WARNING), None),
    ],
)  # fmt: skip
def test_it_is_named_before_rocm_is_there(
    facts: Facts, half: tuple[str, Severity] | None, build: tuple[str, Severity] | None
) -> None:
    for check, verdict in ((half_installed, half), (dkms_build_failed, build)):
        (found,) = run(check, facts)
        assert (found.message, found.severity) == verdict if verdict else found.outcome.value in ("pass", "unknown")


@pytest.mark.parametrize(
    "facts",
    [
        stopped(packages=(), dkms=None),
        stopped(packages=WHY, dkms=WHY),
        stopped(packages=(("amdgpu-dkms", VERSION, "rc"),), dkms=()),  # only its settings are left
        stopped(packages=(("linux-firmware", "20260101", "iF"),), dkms=None),  # the distribution's
        change(nvidia_host(), "amd.dkms", ADDED),  # a card that was taken out
    ],
)
def test_nobody_wanted_it(facts: Facts) -> None:
    for check in (half_installed, dkms_build_failed):
        assert ask(check, facts) == [("skipped", "")]


def test_a_build_that_fails_again_is_removed_alone() -> None:
    assert commands(half_installed, stopped())[:2] == ["sudo apt-get purge amdgpu-dkms", "sudo reboot"]
    both = stopped(packages=(*HALF, ("rocm-core", "7.2.1", "iU")))
    assert commands(half_installed, both)[:2] == ["sudo apt-get purge amdgpu-dkms", "sudo dpkg --configure -a"]
    (first, *_) = run(half_installed, stopped())[0].fixes
    assert "amdgpu-install --usecase=rocm --no-dkms" in first.message
