"""Checks of how ROCm is set up: whose permissions, which packages, which modes."""

from typing import Any

import msgspec
import pytest

from gpudoctor.check_engine import Check, Severity, run
from gpudoctor.checks.rocm.debugging_left_on import debugging_left_on
from gpudoctor.checks.rocm.driver_pair_untested import driver_pair_untested
from gpudoctor.checks.rocm.gfx_not_in_wheel import gfx_not_in_wheel
from gpudoctor.checks.rocm.half_installed import half_installed
from gpudoctor.checks.rocm.hangs import hangs
from gpudoctor.checks.rocm.not_loaded import not_loaded
from gpudoctor.checks.rocm.only_root_opens import only_root_opens
from gpudoctor.checks.rocm.pcie_atomics import pcie_atomics
from gpudoctor.checks.rocm.repository_of_another_release import repository_of_another_release
from gpudoctor.checks.rocm.rocminfo_of_distribution import rocminfo_of_distribution
from gpudoctor.checks.rocm.xnack_without_kernels import xnack_without_kernels
from gpudoctor.facts import AmdRepository, Distribution, Dkms, Facts, LogEvent
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, nvidia_host
from tests.checks.amd_machines import IGPU, RADEON, amd_host, kfd
from tests.checks.rocm.test_rocm import card, commands, inside

WHY = Unknown("not to be seen")
LIST = "/etc/apt/sources.list.d/rocm.list"


def apt(*suites: str) -> Facts:
    """Ubuntu 24.04 with AMD's repository for these suites."""
    found = tuple(
        AmdRepository(path=LIST, address=f"https://repo.radeon.com/rocm/apt/{n}", suite=s) for n, s in enumerate(suites)
    )
    return amd_host(repositories=found)


def rpm(address: str, version: str, identity: str = "rhel") -> Facts:
    """RHEL or a rebuild of it, with one of AMD's repositories."""
    own = Distribution(id=identity, like=("fedora",), version=version, codename=None, name=f"Linux {version}")
    one = AmdRepository(path="/etc/yum.repos.d/rocm.repo", address=address)
    return change(amd_host(repositories=(one,)), "host.distribution", own)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (apt(), ("pass", "")),
        (apt("noble"), ("pass", "")),
        (apt("jammy"), ("problem", f"{LIST} points to AMD's packages for jammy, but this is Ubuntu 24.04.3 LTS.")),
        (
            apt("noble", "focal"),
            ("problem", f"{LIST} points to AMD's packages for focal, but this is Ubuntu 24.04.3 LTS."),
        ),
        (apt("ubuntu2404", "stable"), ("pass", "")),  # names no codename
        (change(apt("jammy"), "host.distribution.id", "debian"), ("pass", "")),  # AMD's Debian packages are Ubuntu's
        (change(apt("jammy"), "host.distribution.id", "linuxmint"), ("pass", "")),
        (rpm("https://repo.radeon.com/rocm/rhel9/6.3.4/main", "9.5"), ("pass", "")),
        (rpm("https://repo.radeon.com/amdgpu/6.3.4/el/9.5/main/x86_64", "9.4"), ("pass", "")),
        (
            rpm("https://repo.radeon.com/rocm/rhel8/6.3.4/main", "9.5", "rocky"),
            (
                "problem",
                "/etc/yum.repos.d/rocm.repo points to AMD's packages for "
                "https://repo.radeon.com/rocm/rhel8/6.3.4/main, but this is Linux 9.5.",
            ),
        ),
        (rpm("https://repo.radeon.com/rocm/zyp/6.3.4/main", "9.5"), ("pass", "")),
        (change(apt("jammy"), "amd.repositories", WHY), ("unknown", "not to be seen")),
        (change(apt("jammy"), "host.distribution.codename", WHY), ("unknown", "not to be seen")),
        (change(apt("jammy"), "host.distribution.id", WHY), ("unknown", "not to be seen")),
    ],
)
def test_repository_of_another_release(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(repository_of_another_release, facts) == [verdict]


@pytest.mark.parametrize(("version", "outcome"), [("25.10", "pass"), ("25.04", "pass"), ("26.04", "problem")])
def test_for_ubuntus_releases_between_amd_has_no_packages(version: str, outcome: str) -> None:
    own = change(change(apt("noble"), "host.distribution.codename", "questing"), "host.distribution.version", version)
    assert ask(repository_of_another_release, own)[0][0] == outcome


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (amd_host(), ("pass", "")),
        (amd_host(opens_for_caller=True), ("pass", "")),
        (
            amd_host(opens_for_caller=False),
            (
                "problem",
                "/dev/kfd opens for root, but not for the user who ran sudo: it belongs to the group render, and that "
                "user is not in it.",
            ),
        ),
        (amd_host(opens_for_caller=False, kfd=()), ("pass", "")),
        (amd_host(opens_for_caller=False, kfd=(kfd(error="ENODEV"),)), ("pass", "")),  # nobody can
        (amd_host(opens_for_caller=WHY), ("unknown", "not to be seen")),
        (amd_host(opens_for_caller=False, kfd=WHY), ("unknown", "not to be seen")),
    ],
)
def test_only_root_opens(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(only_root_opens, facts) == [verdict]


def test_the_caller_is_put_into_the_group() -> None:
    assert commands(only_root_opens, amd_host(opens_for_caller=False)) == [
        "sudo usermod -aG render,video ${SUDO_USER:-$USER}"
    ]


def paired(package: str, hip: str = "6.3.42134", **changes: Any) -> Facts:
    """AMD's driver package and a wheel."""
    facts = amd_host(packages=(("amdgpu-dkms", package, "ii"),), version="6.10.5", **changes)
    return change(facts, "pythons.0.frameworks.0.hip", hip)


BRINGS = "PyTorch 2.7.1+rocm6.3 ships with ROCm"
OF_61, OF_63, OF_70 = "1:6.7.0.60103-1", "1:6.10.5.60304-2125197.22.04", "1:6.14.14.30100000-2193512.24.04"


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (paired(OF_63), ("pass", "")),
        (paired(OF_70, "6.4.43482"), ("pass", "")),
        (paired(OF_61, "6.3.42134"), ("pass", "")),  # two releases
        (
            paired(OF_61, "7.0.51831"),
            (
                "problem",
                f"{BRINGS} 7.0, 4 releases newer than AMD's driver (ROCm 6.1).",
            ),
        ),
        (
            paired(OF_70, "6.0.32830"),
            (
                "problem",
                f"{BRINGS} 6.0, 5 releases older than AMD's driver (ROCm 7.0).",
            ),
        ),
        (paired("1:7.99.1-1", "7.0.1"), ("pass", "")),  # a release that the table does not know
        (paired(OF_61, "99.1.1"), ("pass", "")),
        (change(paired(OF_61, "7.0.51831"), "amd.packages", WHY), ("unknown", "not to be seen")),
    ],
)
def test_driver_pair_untested(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(driver_pair_untested, facts) == [verdict]


def test_only_an_installed_driver_package_tells() -> None:
    facts = paired(OF_61, "7.0.51831")
    for packages in (
        (("rocm-core", "6.1.3.60103-1", "ii"),),
        (("amdgpu-dkms", OF_61, "rc"),),  # removed, its settings are left
        (("amdgpu-dkms", OF_61, "iF"),),  # not set up: another check speaks
    ):
        assert ask(driver_pair_untested, change(facts, "amd.packages", packages)) == [("pass", "")]
    cuda = change(facts, "pythons.0.frameworks.0.hip", None)
    assert ask(driver_pair_untested, cuda) == [("skipped", "")]


def test_the_kernels_own_driver_belongs_to_no_release() -> None:
    own = change(paired(OF_61, "7.0.51831"), "amd.version", None)
    for facts in (own, inside(paired(OF_61, "7.0.51831")), nvidia_host()):
        assert ask(driver_pair_untested, facts) == [("skipped", "")]


def xnack(value: str | None, *archs: str) -> Facts:
    """An MI210 and a wheel with these targets."""
    facts = amd_host((card("gfx90a"),), archs)
    return change(facts, "host.environment", {} if value is None else {"HSA_XNACK": value})


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (xnack("1", "gfx90a"), ("pass", "")),
        (xnack("1", "gfx90a:xnack-", "gfx90a:xnack+"), ("pass", "")),
        (
            xnack("1", "gfx908:xnack+", "gfx90a:xnack-"),
            ("problem", "HSA_XNACK=1 is set, but PyTorch 2.7.1+rocm6.3 has kernels for gfx90a with xnack- only."),
        ),
        (xnack("1", "gfx908:xnack-", "gfx1100"), ("pass", "")),  # not this GPU's: another check's
        (xnack("0", "gfx90a:xnack-"), ("pass", "")),
        (xnack(None, "gfx90a:xnack-"), ("pass", "")),
        (
            xnack("1", "gfx908:xnack-", "gfx90a:sramecc+:xnack-"),
            ("problem", "HSA_XNACK=1 is set, but PyTorch 2.7.1+rocm6.3 has kernels for gfx90a with xnack- only."),
        ),
        (change(xnack("1", "gfx90a:xnack-"), "gpus.0.gfx", WHY), ("unknown", "not to be seen")),
        (change(xnack("1"), "pythons.0.frameworks.0.archs", WHY), ("unknown", "not to be seen")),
    ],
)
def test_xnack_without_kernels(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(xnack_without_kernels, facts) == [verdict]


REJECTED = LogEvent(kind="module-rejected", text="Loading of module with unavailable key is rejected")


def refused(**changes: Any) -> Facts:
    """Secure Boot is on, and amdgpu of DKMS was refused."""
    built = (Dkms(module="amdgpu", version="6.10.5", kernel="6.8.0-60-generic", state="installed"),)
    plain: dict[str, Any] = {"loaded": False, "kfd": (), "render": (), "topology": False, "dkms": built}
    facts = change(amd_host(**(plain | changes)), "host.kernel.secure_boot", True)
    return change(change(facts, "log.events", (REJECTED,)), "gpus", ())


NOT_LOADED = "amdgpu is not loaded for the GPU at 0000:01:00.0 (Radeon RX 7900 XTX)."


def test_secure_boot_refuses_amds_own_module() -> None:
    message = f"{NOT_LOADED} Secure Boot rejects AMD's own module, whose signing key is not enrolled."
    assert ask(not_loaded, refused()) == [("problem", message)]
    assert commands(not_loaded, refused())[0] == "sudo mokutil --import /var/lib/shim-signed/mok/MOK.der"
    fedora = change(refused(), "host.distribution.id", "fedora")
    assert commands(not_loaded, fedora)[0] == "sudo mokutil --import /var/lib/dkms/mok.pub"
    off = change(refused(), "host.kernel.secure_boot", False)
    quiet = change(refused(), "log.events", ())
    for facts in (off, quiet, refused(dkms=None)):  # then another module was rejected, if any
        assert ask(not_loaded, facts) == [("problem", NOT_LOADED)]


def test_the_older_driver_and_cards_that_serve_guests() -> None:
    old = change(refused(dkms=None), "pci.0.driver", "radeon")
    assert ask(not_loaded, old)[0][1].endswith("ROCm does not support this generation.")
    assert commands(not_loaded, old) == []
    assert ask(not_loaded, change(old, "pci.0.driver", "gim")) == [("pass", "")]


def test_a_card_without_kernels_beside_one_with_them() -> None:
    both = amd_host((card("gfx906"), card("gfx1100", 1)), ("gfx1030", "gfx1100"))
    (first, _) = run(gfx_not_in_wheel, both)
    assert first.message == (
        "PyTorch 2.7.1+rocm6.3 was not compiled for gfx906 (Radeon): it has no kernels for this GPU, only for gfx1030 "
        "gfx1100. GPU 1 (Radeon) in this machine works."
    )
    assert first.severity is Severity.WARNING
    assert commands(gfx_not_in_wheel, both)[0] == "export HIP_VISIBLE_DEVICES=1"
    masked = change(both, "host.environment", {"ROCR_VISIBLE_DEVICES": "1,0"})
    assert commands(gfx_not_in_wheel, masked)[0] == "export HIP_VISIBLE_DEVICES=0"
    alone = amd_host((card("gfx906"),), ("gfx1100",))
    assert run(gfx_not_in_wheel, alone)[0].severity is Severity.ERROR
    assert ask(gfx_not_in_wheel, amd_host((RADEON, IGPU))) == [("pass", "")]


@pytest.mark.parametrize(
    ("text", "code", "device", "firmware"),
    [
        ("skipped device 1002:744c, PCI rejects atomics 494<509", None, "1002:744c", True),
        ("skipped device 1002:67df, PCI rejects atomics 730<0", None, "1002:67df", False),
        ("skipped device 1002:7340, PCI rejects atomics 100<145", 7340, "1002:7340", True),
    ],
)
def test_atomics_that_newer_firmware_does_without(text: str, code: int | None, device: str, firmware: bool) -> None:
    what = {} if code else {"code": device.partition(":")[2]}
    facts = change(amd_host(), "log.events", (LogEvent(kind="amdgpu-atomics", text=text, code=code, what=what),))
    assert device in ask(pcie_atomics, facts)[0][1]
    assert (commands(pcie_atomics, facts)[0] == "sudo apt-get install linux-firmware") is firmware


def env(**variables: str) -> Facts:
    """A machine with these variables."""
    return change(amd_host(), "host.environment", variables)


@pytest.mark.parametrize(
    ("facts", "verdicts"),
    [
        (env(), ["skipped"]),
        (env(HIP_LAUNCH_BLOCKING="0", AMD_LOG_LEVEL="1", HSA_ENABLE_SDMA="1", AMD_SERIALIZE_KERNEL=""), ["skipped"]),
        (env(AMD_LOG_LEVEL="4"), ["problem"]),
        (env(HIP_LAUNCH_BLOCKING="1", HSA_ENABLE_SDMA="0"), ["problem", "problem"]),
        (change(nvidia_host(), "host.environment", {"HIP_LAUNCH_BLOCKING": "1"}), ["skipped"]),
    ],
)
def test_debugging_left_on(facts: Facts, verdicts: list[str]) -> None:
    assert [outcome for outcome, _ in ask(debugging_left_on, facts)] == verdicts


def test_what_debugging_costs_is_said() -> None:
    assert ask(debugging_left_on, env(AMD_SERIALIZE_KERNEL="3")) == [
        ("problem", "AMD_SERIALIZE_KERNEL=3 is set: kernels wait for each other, so the GPU idles in between.")
    ]
    assert commands(debugging_left_on, env(AMD_SERIALIZE_KERNEL="3"))[0] == "unset AMD_SERIALIZE_KERNEL"


def test_all_have_fixes() -> None:
    ill: list[tuple[Check[Any], Facts]] = [
        (repository_of_another_release, apt("jammy")),
        (driver_pair_untested, paired(OF_61, "7.0.51831")),
        (xnack_without_kernels, xnack("1", "gfx90a:xnack-")),
    ]
    for check, facts in ill:
        assert [verdict.fixes != () for verdict in run(check, facts)] == [True], check.id


IOMMU = LogEvent(
    kind="unknown-symbol",
    text="amdgpu: Unknown symbol amd_iommu_bind_pasid (err -2)",
    code=-2,
    what={"module": "amdgpu", "text": "amd_iommu_bind_pasid"},
)
TTM = msgspec.structs.replace(IOMMU, what={"module": "amdgpu", "text": "ttm_bo_put"})
BUILT = (Dkms(module="amdgpu", version="6.10", kernel="6.8.0-60-generic", state="installed"),)


@pytest.mark.parametrize(
    ("changes", "first"),
    [
        ({}, "sudo apt-get install linux-modules-extra-6.8.0-60-generic"),
        (
            {"amd.dkms": BUILT},
            "sudo apt-get install linux-modules-extra-6.8.0-60-generic",
        ),  # AMD's module needs them, too
        ({"host.kernel.extra_modules": True}, "sudo modprobe amdgpu"),
        ({"host.kernel.extra_modules": WHY}, "sudo modprobe amdgpu"),
        ({"host.kernel.extra_modules": None}, "sudo modprobe amdgpu"),  # not Ubuntu
        # A symbol of a module that the kernel has, which was not loaded before amdgpu.
        ({"log.events": (TTM,), "host.kernel.extra_modules": True}, "sudo modprobe ttm"),
        ({"log.events": (msgspec.structs.replace(IOMMU, code=-22),)}, "sudo modprobe amdgpu"),
        ({"log.events": (msgspec.structs.replace(IOMMU, what={"module": "i915"}),)}, "sudo modprobe amdgpu"),
    ],
)
def test_ubuntus_cloud_kernels_have_modules_in_a_second_package(changes: dict[str, object], first: str) -> None:
    facts = change(amd_host(loaded=False, kfd=(), render=()), "log.events", (IOMMU,))
    facts = change(facts, "host.kernel.extra_modules", False)
    for path, value in changes.items():
        facts = change(facts, path, value)
    assert commands(not_loaded, facts)[0] == first


HALF = (("amdgpu-dkms", "1:6.10.5", "iF"),)


@pytest.mark.parametrize(
    ("packages", "headers", "first"),
    [
        (HALF, True, "sudo apt-get purge amdgpu-dkms"),  # its build failed, and would fail again
        (HALF, False, "sudo dpkg --configure -a"),
        (HALF, WHY, "sudo dpkg --configure -a"),
        ((("rocm-core", "6.3.4", "iU"),), True, "sudo dpkg --configure -a"),
    ],
)
def test_a_build_that_fails_again_is_not_repeated(packages: object, headers: object, first: str) -> None:
    facts = change(amd_host(packages=packages), "host.kernel.headers", headers)
    assert commands(half_installed, facts)[0] == first


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (
            "amdgpu 0000:01:00.0: amdgpu: MES failed to respond to msg=REMOVE_QUEUE",
            "sudo apt-get install linux-firmware",
        ),
        ("amdgpu: qcm fence wait loop timeout expired", "gpudoctor smoke"),
    ],
)
def test_a_silent_scheduler_asks_for_its_firmware(text: str, command: str) -> None:
    facts = change(amd_host(), "log.events", (LogEvent(kind="kfd-hang", text=text, what={"text": text}),))
    assert commands(hangs, facts)[0] == command


OWN_ROCMINFO, AMDS_ROCMINFO = ("rocminfo", "5.7.1-3build1", "ii"), ("rocminfo", "1.0.0.60304-76~24.04", "ii")
BLOCKED = "rocminfo 5.7.1-3build1 is the distribution's, and AMD's ROCm packages need AMD's: apt cannot install them."


def with_rocminfo(*packages: Any, address: str = "https://repo.radeon.com/rocm/apt/6.3.4", **changes: Any) -> Facts:
    one = AmdRepository(path=LIST, address=address, suite="noble")
    return change(amd_host(repositories=(one,), **changes), "amd.packages", packages)


@pytest.mark.parametrize(
    ("facts", "verdict", "severity"),
    [
        (with_rocminfo(OWN_ROCMINFO), ("problem", BLOCKED), Severity.ADVICE),  # PyTorch's wheel computes
        (change(with_rocminfo(OWN_ROCMINFO), "pythons", ()), ("problem", BLOCKED), Severity.WARNING),
        (with_rocminfo(AMDS_ROCMINFO), ("pass", ""), None),
        (with_rocminfo(("rocminfo", "5.7.1-3build1", "rc")), ("pass", ""), None),
        (with_rocminfo(), ("pass", ""), None),
        (change(with_rocminfo(), "amd.packages", WHY), ("unknown", "not to be seen"), None),
        (with_rocminfo(OWN_ROCMINFO, address="https://repo.radeon.com/amdgpu/6.3.4/ubuntu"), ("skipped", ""), None),
        (change(with_rocminfo(OWN_ROCMINFO), "host.container", "docker"), ("skipped", ""), None),
        (change(with_rocminfo(OWN_ROCMINFO), "amd.repositories", ()), ("skipped", ""), None),
    ],
)
def test_rocminfo_of_distribution(facts: Facts, verdict: tuple[str, str], severity: Severity | None) -> None:
    assert ask(rocminfo_of_distribution, facts) == [verdict]
    if severity:
        (found,) = run(rocminfo_of_distribution, facts)
        assert found.severity is severity
        (shown,) = (fix.commands for fix in found.fixes)
        assert shown[0] == "sudo apt-get purge rocminfo"
        assert "release o=repo.radeon.com" in shown[1]
        assert shown[-1] == "sudo apt-get install rocm-hip-runtime rocminfo"
