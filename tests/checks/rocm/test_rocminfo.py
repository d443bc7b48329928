"""ROCm's runtime as rocminfo shows it: it fails, hangs, or lists no GPU."""

from typing import Any

import msgspec
import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.rocm.rocminfo_fails import rocminfo_fails
from gpudoctor.checks.rocm.rocminfo_hangs import rocminfo_hangs
from gpudoctor.checks.rocm.rocminfo_without_gpu import rocminfo_without_gpu
from gpudoctor.facts import Facts, Rocminfo
from gpudoctor.facts.host import Distribution
from gpudoctor.maybe import Unknown
from gpudoctor.pipeline import check
from tests.builders import ask, change, live, nvidia_host
from tests.checks.amd_machines import RADEON, amd_host, kfd, listing
from tests.parsers.test_rocminfo import CALL, DENIED, ID, RESOURCES

STATUS = "HSA_STATUS_ERROR_OUT_OF_RESOURCES"
FAILED = listing((), status=STATUS, lines=(CALL, RESOURCES))
GENERIC = listing((), status="HSA_STATUS_ERROR", lines=(CALL,))
CLOSED = listing((), lines=(DENIED,))
CRASHED = listing((), died="SIGABRT", lines=("rocminfo: Assertion failed.",))
HUNG = listing((), hung=True)
EMPTY = listing((), lines=ID)
APU = msgspec.structs.replace(RADEON, name="Radeon 890M", gfx="gfx1150", integrated=True)
PACKAGE = "1:6.14.14.30100100-2212064.24.04"
UBUNTU = Distribution(id="ubuntu", like=("debian",), version="24.04")
BLIND = live(0, error="No HIP GPUs are available", error_code=100)
NOBODY = "Programs that use this ROCm (/opt/rocm/bin/rocminfo) find no GPU."
OTHERS = f"{NOBODY[:-1]}; PyTorch 2.7.1+rocm6.3 does, with its own ROCm."


def seen(found: object, works: bool = False, **amd: Any) -> Facts:
    """A machine on which rocminfo ended so, and PyTorch finds no GPU unless it works."""
    facts = amd_host(rocminfo=(found,) if isinstance(found, Rocminfo) else found, **amd)
    return facts if works else change(facts, "pythons.0.frameworks.0.live", BLIND)


def laptop(found: Rocminfo, package: str = PACKAGE, kernel: str = "6.14.0-29-generic", **amd: Any) -> Facts:
    """A laptop with a Radeon 890M and AMD's own driver, on Ubuntu 24.04."""
    own = {"version": "6.14.14", "packages": (("amdgpu-dkms", package, "ii"),), "rocminfo": (found,)} | amd
    facts = change(amd_host((APU,), **own), "host.kernel.release", kernel)
    facts = change(facts, "pythons.0.frameworks.0.live", BLIND)
    return change(facts, "host.distribution", UBUNTU)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (amd_host(), ("pass", "")),
        (seen(HUNG), ("pass", "")),
        (seen(EMPTY), ("pass", "")),
        (seen(()), ("skipped", "")),  # no such program
        (nvidia_host(), ("skipped", "")),
        (seen(Unknown("rocminfo was not run: it sleeps")), ("unknown", "rocminfo was not run: it sleeps")),
        (seen(FAILED), ("problem", f"rocminfo fails with {STATUS}: ROCm's runtime does not start. {NOBODY}")),
        (
            seen(FAILED, works=True),
            ("problem", f"rocminfo fails with {STATUS}: ROCm's runtime does not start. {OTHERS}"),
        ),
        (seen(CRASHED), ("problem", f"rocminfo crashes with SIGABRT: ROCm's runtime does not start. {NOBODY}")),
        (
            seen(CLOSED, kfd=(kfd(error="EACCES"),)),
            ("problem", f"rocminfo cannot open /dev/kfd: ROCm's runtime does not start. {NOBODY}"),
        ),
        (seen(CLOSED), ("unknown", f"{DENIED}, says rocminfo, but it opens")),
        (seen(CLOSED, kfd=Unknown("not to be seen")), ("unknown", "not to be seen")),
    ],
)  # fmt: skip
def test_rocminfo_fails(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(rocminfo_fails, facts) == [verdict]


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (amd_host(), ("pass", "")),
        (seen(FAILED), ("pass", "")),
        (seen(HUNG), ("problem", f"rocminfo did not end: ROCm's runtime hangs when it starts. {NOBODY}")),
        (seen(Unknown("not run")), ("unknown", "not run")),
    ],
)
def test_rocminfo_hangs(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(rocminfo_hangs, facts) == [verdict]


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (amd_host(), ("pass", "")),
        (seen(FAILED), ("pass", "")),
        (seen(CLOSED), ("pass", "")),
        (seen(HUNG), ("pass", "")),
        (change(seen(EMPTY), "gpus", ()), ("pass", "")),  # the kernel lists none either
        (change(seen(EMPTY), "gpus", Unknown("not read")), ("unknown", "not read")),
        (
            seen(EMPTY),
            ("problem", f"ROCm 6.3.4 lists no GPU, while the kernel's compute driver has one. {NOBODY}"),
        ),
        (
            change(laptop(EMPTY), "amd.rocm", "6.4.1"),
            (
                "problem",
                "ROCm 6.4.1 lists no GPU, while the kernel's compute driver has one. AMD lists gfx1150 as supported "
                f"from ROCm 7.2 on. {NOBODY}",
            ),
        ),
        (
            seen(EMPTY, rocm=Unknown("of the distribution")),
            ("problem", f"The installed ROCm lists no GPU, while the kernel's compute driver has one. {NOBODY}"),
        ),
    ],
)
def test_rocminfo_without_gpu(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(rocminfo_without_gpu, facts) == [verdict]


@pytest.mark.parametrize(
    ("facts", "beginnings"),
    [
        (seen(EMPTY), ("See what keeps",)),  # 6.3.4 supports gfx1100
        (change(laptop(EMPTY), "amd.rocm", "6.4.1"), ("Install a ROCm release",)),
        (seen(EMPTY, rocm=Unknown("of the distribution")), ("See what keeps", "Install a ROCm release")),
        (
            change(change(laptop(EMPTY), "amd.rocm", "6.4.1"), "host.container", "docker"),
            ("Use an image with a ROCm release",),
        ),
    ],
    ids=["supported", "not supported", "unknown", "in a container"],
)
def test_no_other_release_is_advised_where_this_one_supports_the_gpu(facts: Facts, beginnings: tuple[str, ...]) -> None:
    fixes = run(rocminfo_without_gpu, facts)[0].fixes
    assert len(fixes) == len(beginnings)
    assert all(fix.message.startswith(begin) for fix, begin in zip(fixes, beginnings, strict=True))


@pytest.mark.parametrize(
    ("one", "found", "severities"),
    [
        (rocminfo_fails, FAILED, ("fail", "warn")),
        (rocminfo_hangs, HUNG, ("fail", "warn")),
        (rocminfo_without_gpu, EMPTY, ("fail", "advice")),
    ],
)
def test_a_wheel_with_a_runtime_of_its_own_may_work(one: Any, found: Rocminfo, severities: tuple[str, str]) -> None:
    assert tuple(run(one, seen(found, works))[0].severity.value for works in (False, True)) == severities


def test_a_rocm_of_an_environment_is_not_all_that_there_is() -> None:
    own = msgspec.structs.replace(FAILED, path="/opt/env/bin/rocminfo")
    ((_, message),) = ask(rocminfo_fails, seen(own))
    assert message.endswith("Programs that use this ROCm (/opt/env/bin/rocminfo) find no GPU.")


def test_the_evidence_is_what_rocminfo_printed() -> None:
    (verdict,) = run(rocminfo_fails, seen(FAILED))
    assert verdict.problem is not None
    assert verdict.problem.evidence == (CALL, RESOURCES)
    assert verdict.problem.cause is not None
    assert verdict.problem.cause.startswith(f"{STATUS} is mostly no lack of memory")


def test_a_release_of_the_driver_with_a_known_bug() -> None:
    (verdict,) = run(rocminfo_fails, laptop(FAILED))
    assert "The package amdgpu-dkms 6.14.14 has a known bug: ROCm does not work with gfx1150" in verdict.message
    (remove,) = verdict.fixes
    assert remove.commands == (
        "sudo apt-get purge amdgpu-dkms amdgpu-dkms-firmware",
        "sudo update-initramfs -u",
        "sudo reboot",
    )


def test_the_kernels_own_amdgpu_has_to_know_the_gpu() -> None:
    remove = run(rocminfo_fails, laptop(FAILED, kernel="6.8.0-90-generic"))[0].fixes[0]
    assert "from kernel 6.9 on" in remove.message
    assert remove.commands[:2] == ("sudo apt-get update", "sudo apt-get install linux-oem-24.04c")


@pytest.mark.parametrize(
    ("found", "works", "root"),
    [
        (FAILED, False, "rocm.rocminfo-fails"),
        (HUNG, False, "rocm.rocminfo-hangs"),
        (FAILED, True, "rocm.gfx-not-in-wheel"),
    ],
)
def test_a_wheel_that_lists_the_gpu_does_not_wait_for_the_runtime(found: Rocminfo, works: bool, root: str) -> None:
    facts = laptop(found)
    report = check(facts=change(facts, "pythons.0.frameworks.0.live", live(1)) if works else facts)
    assert report.findings[0].check == root
    assert ("rocm.gfx-not-in-wheel" in {one.check for one in report.findings}) is works


def test_from_a_container_the_host_is_told_what_to_do() -> None:
    facts = change(laptop(FAILED, packages=()), "host.container", "docker")
    (remove,) = run(rocminfo_fails, facts)[0].fixes
    assert (remove.place, remove.commands) == ("outside", ())
    assert remove.message.startswith("On the host: remove amdgpu-dkms")
    (there,) = run(rocminfo_fails, change(seen(FAILED), "host.container", "docker"))[0].fixes
    assert there.place == "outside"


@pytest.mark.parametrize(
    ("facts", "beginnings"),
    [
        # no known bug: an APU with AMD's driver, a card with it, the kernel's own amdgpu
        (laptop(FAILED, package="1:6.16.6.30200000-2238411.24.04"), ("Remove amdgpu-dkms", "Reboot", "Read")),
        (laptop(GENERIC), ("Install a ROCm release", "Reboot", "Read")),
        (seen(FAILED, version="6.14.14"), ("Reboot", "If it fails after that: remove amdgpu-dkms", "Read")),
        (seen(FAILED), ("Reboot", "If it fails after that: install the newest kernel", "Read")),
        (seen(FAILED, works=True), ("Install a ROCm release",)),
    ],
    ids=["APU", "generic", "card", "in-tree", "works elsewhere"],
)
def test_the_most_probable_comes_first(facts: Facts, beginnings: tuple[str, ...]) -> None:
    fixes = run(rocminfo_fails, facts)[0].fixes
    assert len(fixes) == len(beginnings)
    assert all(fix.message.startswith(begin) for fix, begin in zip(fixes, beginnings, strict=True))


@pytest.mark.parametrize(
    ("kernel", "release", "package"),
    [
        ("6.14.0-29-generic", "24.04", "linux-generic-hwe-24.04"),
        ("6.14.0-1005-oem", "24.04", "linux-oem-24.04c"),
        ("6.8.0-1021-aws", "24.04", ""),
        ("6.17.0-5-generic", "25.10", ""),
    ],
)
def test_the_newest_kernel_for_a_card_is_no_series_for_laptops(kernel: str, release: str, package: str) -> None:
    own = Distribution(id="ubuntu", like=("debian",), version=release)
    facts = change(change(seen(FAILED), "host.distribution", own), "host.kernel.release", kernel)
    newer = run(rocminfo_fails, facts)[0].fixes[1]
    assert newer.message.startswith("If it fails after that: install the newest kernel")
    assert [c for c in newer.commands if "install" in c] == ([f"sudo apt-get install {package}"] if package else [])


def test_a_gpu_that_rocm_dropped_stops_the_others() -> None:
    old = msgspec.structs.replace(RADEON, index=1, name="RX 580", gfx="gfx803")
    facts = change(seen(GENERIC), "gpus", (RADEON, old))
    fix = run(rocminfo_fails, facts)[0].fixes[0]
    assert "gfx1100 from 5.7 on, gfx803 in none" in fix.message
    assert "A GPU that no release supports any more" in fix.message
