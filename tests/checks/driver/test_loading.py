"""Why NVIDIA's module is not loaded: every reason by a machine that has it, and by one that has not."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import judge
from gpudoctor.facts import ConfigLine, Facts
from gpudoctor.root_causes import findings
from tests.builders import FEDORA, ask, nvidia_host, plain_host
from tests.checks.nvidia_machines import KERNEL, OTHER, WHY, disk, entry, event, having, logged, unloaded

GTX970: dict[str, Any] = {"pci__0__generation": "Maxwell", "pci__0__name": None, "pci__0__device": "13c2"}
KEPLER: dict[str, Any] = {"pci__0__generation": "Kepler", "pci__0__name": None}
BLACKWELL: dict[str, Any] = {"pci__0__generation": "Blackwell", "pci__0__name": None}
NOTHING = unloaded(
    nvidia__kernel__on_disk=(),
    nvidia__nvml__libraries=(),
    nvidia__cuda__libraries=(),
    nvidia__nvml__code=None,
    nvidia__cuda__code=None,
)
NO_MODULE = unloaded(nvidia__kernel__on_disk=())
ELSEWHERE = having(NO_MODULE, nvidia__kernel__other_kernels=(disk(kernel=OTHER),))
REPLACED = having(ELSEWHERE, host__kernel__modules=False, host__kernel__headers=False)
NOUVEAU = unloaded(pci__0__driver="nouveau", nvidia__kernel__blacklists=("nouveau",))
NO_HEADERS = having(
    ELSEWHERE, nvidia__kernel__dkms=(entry(kernel=OTHER, state="installed"),), host__kernel__headers=False
)
COMPILER = having(
    NO_MODULE,
    nvidia__kernel__dkms=(entry(),),
    nvidia__kernel__dkms_errors=("cc: error: unrecognized command-line option '-ftrivial-auto-var-init=zero'",),
)
OLD_BRANCH = having(
    NO_MODULE,
    nvidia__kernel__dkms=(entry("470.256.02"),),
    nvidia__kernel__dkms_errors=("nvidia-drm-drv.c:210:6: error: no member named 'fb_base'",),
)
STALE = having(NO_MODULE, nvidia__kernel__dkms=(entry("470.57.02", state="broken"),))
ENROLLED: dict[str, Any] = {"nvidia__kernel__signer_enrolled": True}
UNSIGNED = (disk(signer=None),)
BLACKLISTED = (ConfigLine(path="/etc/modprobe.d/b.conf", text="blacklist nvidia"),)
SECURE = unloaded(nvidia__kernel__on_disk=UNSIGNED, host__kernel__secure_boot=True, host__kernel__lockdown="integrity")
SIGNED = unloaded(
    host__kernel__secure_boot=True, host__kernel__lockdown="integrity", nvidia__kernel__signer_enrolled=False
)
LOCKED = unloaded(nvidia__kernel__on_disk=UNSIGNED, host__kernel__lockdown="integrity")

ILL = [
    (
        "driver.not-installed",
        NOTHING,
        "The GPU at 0000:01:00.0 (AD102 [GeForce RTX 4090]) is present, but no part of NVIDIA's driver is installed.",
    ),
    (
        "driver.no-module-for-kernel",
        NO_MODULE,
        "The driver's libraries 570.169 are installed, but there is no kernel module nvidia.ko for the running kernel "
        f"{KERNEL}.",
    ),
    (
        "driver.built-for-another-kernel",
        ELSEWHERE,
        f"The running kernel {KERNEL} has no NVIDIA module: it was built only for {OTHER}.",
    ),
    (
        "driver.built-for-another-kernel",
        REPLACED,
        f"An update replaced the kernel: the modules of the running kernel {KERNEL} are gone, and NVIDIA's module is "
        f"installed only for {OTHER}.",
    ),
    (
        "driver.blacklisted",
        unloaded(
            nvidia__kernel__blacklists=("nvidia",),
            nvidia__kernel__switch="system76-power",
            nvidia__kernel__switch_files=("/etc/modprobe.d/system76-power.conf",),
        ),
        "system76-power is in integrated mode: /etc/modprobe.d/system76-power.conf blacklists the module nvidia.",
    ),
    (
        "driver.nouveau-in-the-way",
        NOUVEAU,
        "The GPU at 0000:01:00.0 (AD102 [GeForce RTX 4090]) is bound to nouveau, the kernel's open-source driver, "
        "so NVIDIA's module cannot claim it. It is blacklisted, but was loaded anyway.",
    ),
    (
        "driver.headers-missing",
        NO_HEADERS,
        f"There is no NVIDIA module for kernel {KERNEL}, and it cannot be built: its headers are not installed.",
    ),
    (
        "driver.dkms-build-failed",
        COMPILER,
        f"DKMS could not build NVIDIA's module 570.169 for kernel {KERNEL}. The kernel was built with gcc 12.3.0; "
        "DKMS used an older or different compiler.",
    ),
    (  # what is installed for this kernel was built, what is installed for another one was not built for this one
        "driver.dkms-build-failed",
        having(OLD_BRANCH, nvidia__kernel__dkms=(entry("470.256.02"), entry("550.1", KERNEL, "installed"))),
        f"DKMS could not build NVIDIA's module 470.256.02 for kernel {KERNEL}.",
    ),
    (
        "driver.dkms-build-failed",
        having(OLD_BRANCH, nvidia__kernel__dkms=(entry("550.1"), entry("470.256.02", OTHER, "installed"))),
        f"DKMS could not build NVIDIA's module 470.256.02 for kernel {KERNEL}.",
    ),
    ("driver.dkms-build-failed", OLD_BRANCH, f"DKMS could not build NVIDIA's module 470.256.02 for kernel {KERNEL}."),
    (
        "driver.dkms-entry-stale",
        STALE,
        f"DKMS lists nvidia/470.57.02, whose source is gone, and there is no module for kernel {KERNEL}.",
    ),
    ("driver.not-loaded", unloaded(), "The kernel module nvidia is not loaded (module 570.169 is installed on disk)."),
    (
        "driver.not-loaded",
        unloaded(host__container="docker", nvidia__kernel__on_disk=WHY),
        "The kernel module nvidia is not loaded on the host.",
    ),
    (
        "driver.refused-by-secure-boot",
        SECURE,
        "Secure Boot is on and NVIDIA's module is not signed, so the kernel refuses to load it.",
    ),
    (  # the kernel log cannot be read, or no longer has the line
        "driver.refused-by-secure-boot",
        having(SIGNED, log__events=WHY),
        "Secure Boot is on and NVIDIA's module is signed with a key that is not enrolled, so the kernel refuses to "
        "load it.",
    ),
    (
        "driver.refused-by-secure-boot",
        logged(event("module-rejected"), facts=unloaded(host__kernel__secure_boot=True)),
        "Secure Boot is on and NVIDIA's module is signed with a key that is not enrolled, so the kernel refuses to "
        "load it.",
    ),
    (
        "driver.refused-by-lockdown",
        LOCKED,
        "The kernel is in lockdown (integrity) and refuses to load NVIDIA's unsigned module: the module is not signed.",
    ),
    (
        "driver.refused-by-lockdown",
        unloaded(nvidia__kernel__on_disk=UNSIGNED, host__kernel__command_line="quiet module.sig_enforce=1"),
        "NVIDIA's module is not signed, and with module.sig_enforce=1 the kernel loads only signed modules.",
    ),
    (
        "driver.blacklisted",
        unloaded(nvidia__kernel__blacklists=("nouveau", "nvidia")),
        "The module nvidia is blacklisted in modprobe.d or on the kernel command line, so it is not loaded.",
    ),
    (
        "driver.blacklisted",
        unloaded(nvidia__kernel__blacklists=("nvidia",), nvidia__kernel__blacklist_lines=BLACKLISTED),
        "The module nvidia is blacklisted in /etc/modprobe.d/b.conf, so it is not loaded.",
    ),
    (
        "driver.blacklisted",
        unloaded(nvidia__kernel__prime="intel"),
        "prime-select is set to the Intel GPU, which blacklists the module nvidia.",
    ),
    (
        "driver.nouveau-in-the-way",
        unloaded(pci__0__driver="nouveau"),
        "The GPU at 0000:01:00.0 (AD102 [GeForce RTX 4090]) is bound to nouveau, the kernel's open-source driver, "
        "so NVIDIA's module cannot claim it.",
    ),
    (
        "driver.nova-core-in-the-way",
        unloaded(pci__0__driver="NovaCore"),
        "The GPU at 0000:01:00.0 (AD102 [GeForce RTX 4090]) is bound to NovaCore, the kernel's open-source driver, "
        "so NVIDIA's module cannot claim it.",
    ),
    (
        "driver.vfio-in-the-way",
        unloaded(pci__0__driver="vfio-pci"),
        "The GPU at 0000:01:00.0 (AD102 [GeForce RTX 4090]) is bound to vfio-pci for a virtual machine, so NVIDIA's "
        "driver "
        "cannot claim it on this host.",
    ),
    (
        "driver.gpu-dropped",
        unloaded(**KEPLER),
        "The GPU at 0000:01:00.0 is a Kepler GPU that needs driver branch 470 or older; the installed driver 570.169 "
        "is too "
        "new and ignores it.",
    ),
    (
        "driver.gpu-dropped",
        logged(event("nvrm-legacy", branch="390"), facts=unloaded(pci__0__generation=WHY, pci__0__name=None)),
        "The GPU at 0000:01:00.0 is a GPU that needs driver branch 390 or older; the installed driver 570.169 is too "
        "new and "
        "ignores it.",
    ),
    (
        "driver.gpu-too-new",
        unloaded(nvidia__kernel__on_disk=(disk("550.54.14"),), **BLACKWELL),
        "The GPU at 0000:01:00.0 (Blackwell) needs driver branch 570 or newer; 550.54.14 is too old.",
    ),
    (
        "driver.open-module-unsupported",
        unloaded(nvidia__kernel__on_disk=(disk(flavor="open"),), **GTX970),
        "The GPU at 0000:01:00.0 is a Maxwell GPU without GSP, which the installed open kernel modules (570.169) do "
        "not "
        "support.",
    ),
    (
        "driver.proprietary-module-unsupported",
        unloaded(**BLACKWELL),
        "The GPU at 0000:01:00.0 is a Blackwell GPU, which only the open kernel modules support; the installed "
        "module 570.169 is the proprietary one.",
    ),
]

WELL = [
    # Secure Boot with a signed module, a rejection of somebody else's module, and lockdown with a signed module.
    (
        "driver.refused-by-secure-boot",
        unloaded(host__kernel__secure_boot=True, host__kernel__lockdown="integrity", **ENROLLED),
    ),
    # A kernel that does not lock down takes any module, signed or not.
    ("driver.refused-by-secure-boot", having(SECURE, host__kernel__lockdown="none")),
    ("driver.refused-by-secure-boot", logged(event("module-rejected"))),
    ("driver.refused-by-lockdown", unloaded(host__kernel__lockdown="integrity")),
    # A missing module is nouveau's chance, not its fault.
    ("driver.nouveau-in-the-way", having(NO_MODULE, pci__0__driver="nouveau")),
    ("driver.headers-missing", having(ELSEWHERE, host__kernel__headers=False, nvidia__kernel__dkms=None)),
    ("driver.dkms-build-failed", having(nvidia__kernel__dkms_errors=("error: of another version",))),
    ("driver.blacklisted", having(nvidia__kernel__blacklists=("nvidia",))),
    ("driver.not-installed", NO_MODULE),
    ("driver.dkms-entry-stale", unloaded(nvidia__kernel__dkms=(entry("470.57.02", state="broken"),))),
    ("driver.not-installed", having(NOTHING, pci__0__driver="vfio-pci")),
    ("driver.not-loaded", NO_MODULE),
    ("driver.no-module-for-kernel", unloaded()),
    ("driver.built-for-another-kernel", NO_MODULE),
    ("driver.gpu-dropped", unloaded(nvidia__kernel__on_disk=(disk("470.256.02"),), **KEPLER)),
    ("driver.open-module-unsupported", having(nvidia__kernel__flavor="open")),
    ("driver.proprietary-module-unsupported", unloaded(nvidia__kernel__on_disk=(disk(flavor="open"),), **BLACKWELL)),
    ("driver.gpu-too-new", unloaded(**BLACKWELL)),
]

UNKNOWN = [
    ("driver.not-installed", unloaded(nvidia__kernel__loaded=WHY)),
    ("driver.not-installed", having(NOTHING, nvidia__cuda__libraries=WHY)),
    ("driver.no-module-for-kernel", having(NO_MODULE, nvidia__kernel__on_disk=WHY)),
    ("driver.built-for-another-kernel", having(ELSEWHERE, nvidia__kernel__other_kernels=WHY)),
    ("driver.headers-missing", having(NO_HEADERS, host__kernel__headers=WHY)),
    ("driver.dkms-build-failed", having(COMPILER, nvidia__kernel__loaded=WHY)),
    ("driver.dkms-entry-stale", having(STALE, nvidia__kernel__dkms=WHY)),
    ("driver.not-loaded", unloaded(nvidia__kernel__loaded=WHY)),
    ("driver.refused-by-secure-boot", having(SECURE, host__kernel__secure_boot=WHY)),
    ("driver.refused-by-secure-boot", having(SECURE, host__kernel__lockdown=WHY)),
    ("driver.refused-by-secure-boot", having(SECURE, nvidia__kernel__on_disk=WHY)),
    ("driver.refused-by-secure-boot", having(SIGNED, nvidia__kernel__signer_enrolled=WHY)),
    ("driver.refused-by-secure-boot", having(SECURE, nvidia__kernel__on_disk=(disk(signer=WHY),))),
    ("driver.refused-by-lockdown", having(LOCKED, host__kernel__lockdown=WHY)),
    ("driver.blacklisted", unloaded(nvidia__kernel__on_disk=WHY)),
]


@pytest.mark.parametrize(("check", "facts", "message"), ILL)
def test_the_problem_is_named(check: str, facts: Facts, message: str) -> None:
    assert ask(catalogue.load([check])[0], facts) == [("problem", message)]


@pytest.mark.parametrize("check", sorted({check for check, _, _ in ILL}))
def test_a_healthy_machine_and_one_without_gpus_have_none(check: str) -> None:
    one = catalogue.load([check])[0]
    assert {outcome for outcome, _ in ask(one, nvidia_host())} == {"pass"}
    assert ask(one, plain_host()) == [("skipped", "")]


@pytest.mark.parametrize(("check", "facts"), WELL)
def test_what_only_looks_like_it_is_left_alone(check: str, facts: Facts) -> None:
    assert {outcome for outcome, _ in ask(catalogue.load([check])[0], facts)} == {"pass"}


@pytest.mark.parametrize(("check", "facts"), UNKNOWN)
def test_what_nobody_could_see_is_unknown(check: str, facts: Facts) -> None:
    assert ask(catalogue.load([check])[0], facts) == [("unknown", "nobody could look")]


@pytest.mark.parametrize(
    ("facts", "root"),
    [
        (NO_HEADERS, "driver.headers-missing"),
        (COMPILER, "driver.dkms-build-failed"),
        (ELSEWHERE, "driver.built-for-another-kernel"),
        (REPLACED, "driver.built-for-another-kernel"),
        (
            having(REPLACED, nvidia__kernel__dkms=(entry(kernel=OTHER, state="installed"),)),
            "driver.built-for-another-kernel",
        ),
        (NO_MODULE, "driver.no-module-for-kernel"),
        (STALE, "driver.dkms-entry-stale"),
        (NOTHING, "driver.not-installed"),
        (SECURE, "driver.refused-by-secure-boot"),
        (SIGNED, "driver.refused-by-secure-boot"),
        (having(SECURE, pci__0__driver="nouveau"), "driver.refused-by-secure-boot"),
        (LOCKED, "driver.refused-by-lockdown"),
        (unloaded(pci__0__driver="nouveau"), "driver.nouveau-in-the-way"),
        (unloaded(**KEPLER), "driver.gpu-dropped"),
        (unloaded(nvidia__kernel__on_disk=(disk("550.54.14"),), **BLACKWELL), "driver.gpu-too-new"),
        (unloaded(), "driver.not-loaded"),
    ],
)
def test_one_cause_is_one_finding(facts: Facts, root: str) -> None:
    found, _ = findings(judge(facts, catalogue.load(catalogue.select(catalogue.ids(), ("driver", "device"), ()))))
    assert [f.root.check.id for f in found] == [root]


def test_the_fix_fits_the_distribution_and_the_gpu() -> None:
    pascal = unloaded(nvidia__kernel__on_disk=(disk("580.126.09", flavor="open"),), **GTX970)
    one = catalogue.load(["driver.open-module-unsupported"])[0]
    fixes = [fix for about, subject in one.targets(pascal) for fix in one.fixes_for(subject)]
    assert fixes[0].commands == ("sudo apt-get update", "sudo apt-get install nvidia-driver-580")
    akmods = having(ELSEWHERE, host__distribution=FEDORA, host__kernel__headers=False)
    one = catalogue.load(["driver.built-for-another-kernel"])[0]
    assert one.fixes_for(akmods)[0].commands == (
        f"sudo dnf install kernel-devel-{KERNEL}",
        f"sudo akmods --force --kernels {KERNEL}",
        "sudo modprobe nvidia",
    )
    assert one.fixes_for(having(ELSEWHERE, nvidia__kernel__installer="runfile"))[0].commands[-1] == (
        "sudo sh NVIDIA-Linux-x86_64-570.169.run --dkms"
    )


ARCH: dict[str, Any] = {"host__distribution__id": "arch", "host__distribution__like": ()}


def test_arch_and_manjaro_without_dkms_have_a_module_package_for_each_kernel() -> None:
    manjaro = having(ELSEWHERE, **ARCH, host__kernel__release="6.12.4-1-MANJARO")
    assert fix_lines("driver.built-for-another-kernel", manjaro)[0] == (
        "sudo pacman -S linux612-nvidia",
        "sudo modprobe nvidia",
    )
    zen = having(ELSEWHERE, **ARCH, host__kernel__release="6.12.4-zen1-1-zen")
    assert fix_lines("driver.built-for-another-kernel", zen)[0] == (
        "sudo pacman -Syu linux-zen-headers nvidia-open-dkms",
        "sudo modprobe nvidia",
    )


def fix_lines(check: str, facts: Facts) -> list[tuple[str, ...]]:
    """The commands of each fix of a check of the machine."""
    return [fix.commands for fix in catalogue.load([check])[0].fixes_for(facts)]


def test_a_replaced_kernel_needs_a_restart_and_nothing_else() -> None:
    assert fix_lines("driver.built-for-another-kernel", REPLACED) == [("sudo reboot",)]
    bare = having(NO_MODULE, host__kernel__modules=False)
    assert fix_lines("driver.no-module-for-kernel", bare) == [("sudo reboot",)]
    assert fix_lines("driver.uvm-missing", having(host__kernel__modules=False)) == [("sudo reboot",)]


def test_a_blacklist_that_is_there_already_only_needs_a_new_initial_ram_disk() -> None:
    assert fix_lines("driver.nouveau-in-the-way", NOUVEAU) == [("sudo update-initramfs -u", "sudo reboot")]
    strange = having(NOUVEAU, host__distribution__id="mocaccino", host__distribution__like=("gentoo",))
    fixes = catalogue.load(["driver.nouveau-in-the-way"])[0].fixes_for(strange)
    assert "genkernel initramfs" in fixes[0].message
    assert "modprobe.blacklist=nouveau" in fixes[0].message


EARLY_OPEN: dict[str, Any] = {
    "nvidia__kernel__loaded": "515.43.04",
    "nvidia__kernel__flavor": "open",
    "nvidia__kernel__on_disk": (disk("515.43.04", flavor="open"),),
    "gpus": (),
    "log__events": (event("nvrm-open-data-center"),),
}


def test_open_modules_before_545_refuse_geforce() -> None:
    one = catalogue.load(["driver.open-module-unsupported"])[0]
    facts = having(**EARLY_OPEN)
    assert "need NVreg_OpenRmEnableUnsupportedGpus=1 on others" in ask(one, facts)[0][1]
    newer, option = (fix for _, subject in one.targets(facts) for fix in one.fixes_for(subject))
    assert newer.commands[-1] == "sudo apt-get install nvidia-driver-580-open"
    assert "/etc/modprobe.d/zz-nvidia-open.conf" in option.commands[0]
    assert option.commands[1:] == ("sudo update-initramfs -u", "sudo reboot")
    bookworm = {"id": "debian", "like": (), "version": "12", "codename": "bookworm"}
    debian = having(facts, **{f"host__distribution__{name}": value for name, value in bookworm.items()})
    usual = next(fix for _, subject in one.targets(debian) for fix in one.fixes_for(subject))
    assert usual.commands[-1] == "sudo apt-get install nvidia-driver libcuda1 nvidia-smi firmware-misc-nonfree"
    inside = having(facts, host__container="docker")
    assert next(fix for _, subject in one.targets(inside) for fix in one.fixes_for(subject)).place == "outside"
