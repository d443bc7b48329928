"""What is advised against the driver's illnesses: the right thing for this distribution, in an order that works."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Fix, Problem
from gpudoctor.facts import Distribution, Facts
from gpudoctor.facts.host import PackageSource
from gpudoctor.fixes import system
from gpudoctor.fixes.driver import install_driver
from gpudoctor.fixes.module_option import set_option
from gpudoctor.tasks.as_typed import typed
from tests.builders import FEDORA, UBUNTU, ask
from tests.checks.nvidia_machines import KERNEL, OTHER, WHY, disk, entry, event, failing, having, unloaded, xid

NIXOS = Distribution(id="nixos", like=(), version="25.11", codename=None, name="NixOS 25.11")
BULLSEYE = Distribution(id="debian", like=(), version="11", codename="bullseye", name="Debian GNU/Linux 11")
BOOKWORM = Distribution(id="debian", like=(), version="12", codename="bookworm", name="Debian GNU/Linux 12")
READY: dict[str, Any] = {
    "nvidia__kernel__on_disk": (),
    "nvidia__kernel__other_kernels": (disk(kernel=OTHER, path=f"/lib/modules/{OTHER}/kernel/nvidia-570/nvidia.ko"),),
    "nvidia__kernel__packages": ((f"linux-modules-nvidia-570-{OTHER}", "6.8", "ii"), ("nvidia-driver-570", "1", "ii")),
}


def fixes(check: str, facts: Facts) -> list[Fix]:
    """The fixes of a check's first subject that has the problem."""
    one = catalogue.load([check])[0]
    return [fix for _, subject in one.targets(facts) if one(subject) for fix in one.fixes_for(subject)]


@pytest.mark.parametrize(
    ("kernel", "meta"),
    [(KERNEL, "generic"), ("6.11.0-26-generic", "generic-hwe-24.04"), ("6.8.0-1021-aws", "")],
)
def test_a_ready_module_of_ubuntu_comes_before_dkms(kernel: str, meta: str) -> None:
    found = fixes("driver.built-for-another-kernel", unloaded(**READY, host__kernel__release=kernel))
    names = f"linux-modules-nvidia-570-{kernel}" + (f" linux-modules-nvidia-570-{meta}" if meta else "")
    assert found[0].commands == ("sudo apt-get update", f"sudo apt-get install {names}", "sudo modprobe nvidia")
    assert found[1].commands[0] == f"sudo apt-get install linux-headers-{kernel} nvidia-dkms-570"


@pytest.mark.parametrize(
    ("own", "kernel", "meta"),
    [
        (("linuxmint", "22.2"), "6.14.0-33-generic", "linux-modules-nvidia-570-generic-hwe-24.04"),
        (("zorin", "17"), "5.15.0-91-generic", "linux-modules-nvidia-570-generic"),
        (("linuxmint", "30"), KERNEL, ""),
    ],
)
def test_ubuntus_ready_module_on_what_is_based_on_it(own: tuple[str, str], kernel: str, meta: str) -> None:
    based = Distribution(id=own[0], like=("ubuntu", "debian"), version=own[1], codename=None, name=own[0])
    ill = unloaded(**READY, host__kernel__release=kernel, host__distribution=based)
    names = f"linux-modules-nvidia-570-{kernel} {meta}".rstrip()
    assert fixes("driver.built-for-another-kernel", ill)[0].commands[1] == f"sudo apt-get install {names}"


def test_a_kernel_before_its_prebuilt_module() -> None:
    alma = Distribution(id="almalinux", like=("rhel", "fedora"), version="9.6", codename=None, name="AlmaLinux 9.6")
    new, old = "5.14.0-570.42.2.el9_6.x86_64", "5.14.0-570.39.1.el9_6.x86_64"
    ill = unloaded(
        host__distribution=alma,
        host__kernel__release=new,
        nvidia__kernel__on_disk=(),
        nvidia__kernel__other_kernels=(disk(kernel=old, path=f"/lib/modules/{old}/extra/nvidia/nvidia.ko"),),
        nvidia__kernel__packages=(("nvidia-open-kmod", "580.82.07-1", "ii"), ("nvidia-driver", "580.82.07", "ii")),
        nvidia__kernel__dkms=None,
    )
    back, later = fixes("driver.built-for-another-kernel", ill)
    assert back.commands == (f"sudo grubby --set-default /boot/vmlinuz-{old}", "sudo reboot")
    assert later.commands == ("sudo dnf upgrade --refresh '*nvidia*'", "sudo modprobe nvidia")
    built = having(ill, nvidia__kernel__dkms=(entry(),))
    assert fixes("driver.built-for-another-kernel", built)[0].commands[-1] == "sudo modprobe nvidia"


@pytest.mark.parametrize(
    ("kernel", "number"),
    [("6.16.8-200.fc42.x86_64", 2), ("6.16.8-cachyos1.fc42.x86_64", 1), ("6.16.8-cb1.0.fc42.x86_64", 1)],
)
def test_fedoras_repository_has_the_headers_of_its_newest_kernel_alone(kernel: str, number: int) -> None:
    ill = unloaded(
        host__distribution=FEDORA,
        host__kernel__release=kernel,
        host__kernel__headers=False,
        nvidia__kernel__on_disk=(),
        nvidia__kernel__dkms=(entry(),),
    )
    found = fixes("driver.headers-missing", ill)
    assert len(found) == number
    upgrade = ("sudo dnf upgrade --refresh 'kernel*'", "sudo dnf install kernel-devel-matched")
    assert number == 1 or found[1].commands == upgrade


def test_where_dkms_builds_it_comes_first() -> None:
    built = {"nvidia__kernel__packages": (("nvidia-dkms-570", "1", "ii"), ("linux-modules-nvidia-570-x", "1", "ii"))}
    found = fixes("driver.built-for-another-kernel", unloaded(**(READY | built)))
    assert found[0].commands[0] == f"sudo dkms autoinstall -k {KERNEL}"


def test_a_driver_that_hangs_cannot_reset_the_gpu() -> None:
    ill = failing(999, log__events=(xid(119),), gpus__0__recovery_action="reset")
    assert any("--gpu-reset" in command for command in fixes("device.gsp-failed", ill)[0].commands)
    hung = having(ill, nvidia__nvml__hung="init", gpus=())
    assert fixes("device.gsp-failed", hung)[0].commands == ("sudo reboot",)
    assert not any("--gpu-reset" in c for fix in fixes("device.gsp-failed", hung) for c in fix.commands)


@pytest.mark.parametrize(
    ("distribution", "branch", "words", "last"),
    [
        (BULLSEYE, 580, "has packages only up to branch 470", "sudo sh NVIDIA-Linux-x86_64-580.*.run --dkms"),
        (BOOKWORM, None, "driver of branch 535", "nvidia-driver"),
        (Distribution(id="ubuntu", like=("debian",), version="18.04"), None, "branch 525", "nvidia-driver-525"),
        (NIXOS, 580, "On NixOS", "sudo reboot"),
        (Distribution(id="ubuntu", version="18.04"), 580, "only up to branch 525", "580.*.run --dkms"),
        (UBUNTU, 580, "driver of branch 580", "sudo apt-get install nvidia-driver-580-open"),
    ],
)
def test_a_branch_is_named_only_where_the_release_has_it(
    distribution: Distribution, branch: int | None, words: str, last: str
) -> None:
    fix = install_driver(having(host__distribution=distribution), branch)
    assert words in fix.message
    assert last in fix.commands[-1]


FAILED: dict[str, Any] = {
    "nvidia__kernel__on_disk": (),
    "nvidia__kernel__akmods_log": "/var/cache/akmods/nvidia/570.169-1-for-6.8.failed.log",
    "nvidia__kernel__dkms_errors": ("error: Failed build dependencies:", "gcc-c++ is needed by nvidia-kmod-3:570.169"),
    "host__distribution": FEDORA,
}


def test_what_a_build_lacks_is_installed() -> None:
    facts = unloaded(**FAILED)
    assert ask(catalogue.load(["driver.dkms-build-failed"])[0], facts) == [
        (
            "problem",
            f"akmods could not build NVIDIA's module for kernel {KERNEL}. The build needs gcc-c++, which is not "
            "installed.",
        )
    ]
    commands = fixes("driver.dkms-build-failed", facts)[0].commands
    assert (commands[0], commands[-1]) == ("sudo dnf install gcc-c++", "sudo modprobe nvidia")


def test_an_image_is_not_built_on_but_its_certificate_is_enrolled() -> None:
    key = "/etc/pki/akmods/certs/akmods-image.der"
    ill = unloaded(
        host__distribution=FEDORA,
        host__kernel__secure_boot=True,
        log__events=(event("module-rejected"),),
        nvidia__kernel__image_keys=("/etc/pki/akmods/certs/public_key.der", key),
        nvidia__kernel__on_disk=(disk(signer="the image's key"),),
    )
    found = fixes("driver.refused-by-secure-boot", ill)
    assert found[0].commands == (f"sudo mokutil --import {key}", "sudo systemctl reboot")
    assert 'signer: "the image\'s key"' in found[0].message
    none = having(ill, nvidia__kernel__on_disk=(), nvidia__kernel__other_kernels=(disk(kernel=OTHER),), log__events=())
    assert "sudo rpm-ostree upgrade" in fixes("driver.built-for-another-kernel", none)[0].commands


@pytest.mark.parametrize(
    ("release", "program"), [(("centos", "7"), "yum"), (("amzn", "2"), "yum"), (("rhel", "9.4"), "dnf")]
)
def test_releases_before_dnf_get_yum(release: tuple[str, str], program: str) -> None:
    distribution = Distribution(id=release[0], like=("rhel", "fedora"), version=release[1], name="x")
    facts = having(host__distribution=distribution)
    assert typed(system.install(facts, "gcc")) == (f"sudo {program} install gcc",)
    assert any("dnf" in c for c in install_driver(facts, 570).commands) == (program == "dnf")


def test_nixos_names_the_last_branch_of_an_old_card() -> None:
    pascal = unloaded(host__distribution=NIXOS, pci__0__generation="Pascal", gpus=())
    assert "nvidiaPackages.legacy_580;" in install_driver(pascal).commands[0]
    assert "hardware.nvidia.open = false;" in install_driver(pascal).commands[0]
    assert "nvidiaPackages.production;" in install_driver(having(host__distribution=NIXOS)).commands[0]


def test_nixos_sets_options_of_modules_in_its_configuration() -> None:
    stale = having(failing(999), host__distribution=NIXOS)
    later = fixes("driver.uvm-stale", stale)[1].commands
    assert "hardware.nvidia.powerManagement.enable = true;" in later[0]
    assert later[1:] == ("sudo nixos-rebuild boot", "sudo reboot")
    option = set_option(stale, "Use it", "NVreg_X=1", "nvidia-x")
    assert 'boot.extraModprobeConfig = "options nvidia NVreg_X=1";' in option.commands[0]


def test_bottlerocket_sets_its_own_lockdown() -> None:
    ill = unloaded(
        host__distribution=Distribution(id="bottlerocket", like=(), version="1.46.0"),
        host__kernel__lockdown="integrity",
        log__events=(event("lockdown-refused"),),
    )
    assert fixes("driver.refused-by-lockdown", ill)[1].commands == (
        "apiclient set kernel.lockdown=none",
        "apiclient reboot",
    )


def test_vfio_is_unbound_first_and_edited_before_the_initial_ram_disk_is_made() -> None:
    now, later = fixes("driver.vfio-in-the-way", unloaded(pci__0__driver="vfio-pci"))
    assert now.commands[-2:] == (
        "sudo modprobe nvidia",
        "echo 0000:01:00.0 | sudo tee /sys/bus/pci/drivers/nvidia/bind",
    )
    order = ("sudoedit FILE", "sudo update-initramfs -u", "sudo reboot")
    assert later.commands[1:] == order
    assert "10de:2684" in later.message


def test_a_built_module_is_loaded() -> None:
    ill = unloaded(
        nvidia__kernel__on_disk=(),
        nvidia__kernel__dkms=(entry(),),
        nvidia__kernel__dkms_errors=("cc: error: unrecognized command-line option '-ftrivial-auto-var-init=zero'",),
    )
    assert fixes("driver.dkms-build-failed", ill)[0].commands[-1] == "sudo modprobe nvidia"


def test_the_evidence_of_cuda_has_no_words_of_python() -> None:
    ill = failing(3, nvidia__nvml__code=WHY, nvidia__cuda__loaded=WHY, nvidia__kernel__loaded=None)
    problem = catalogue.load(["driver.cuda-error"])[0](ill)
    assert isinstance(problem, Problem)
    assert problem.evidence == ("module: not loaded",)


def test_a_kernel_that_is_not_ubuntus_has_no_ready_module() -> None:
    ill = unloaded(host__kernel__secure_boot=True, log__events=(event("module-rejected"),))
    assert f"linux-modules-nvidia-570-{KERNEL}" in fixes("driver.refused-by-secure-boot", ill)[0].commands[1]
    other = having(ill, host__kernel__release="5.19.2-surface")
    commands = [c for fix in fixes("driver.refused-by-secure-boot", other) for c in fix.commands]
    assert not any("linux-modules-nvidia" in c for c in commands)


REFUSED: dict[str, Any] = {
    "host__kernel__secure_boot": True,
    "host__kernel__lockdown": "integrity",
    "nvidia__kernel__signer_enrolled": False,
    "nvidia__kernel__packages": (
        ("nvidia-dkms-570-open", "570.169-0ubuntu0.24.04.1", "ii"),
        ("nvidia-driver-570-open", "570.169-0ubuntu0.24.04.1", "ii"),
    ),
    "nvidia__kernel__dkms": (entry("570.169", kernel=KERNEL, state="installed"),),
}
KEPT = "nvidia-driver-570-open nvidia-dkms-570-open-"  # apt refuses instead of removing both
PREBUILT = f"linux-modules-nvidia-570-open-{KERNEL}"


@pytest.mark.parametrize(
    ("changes", "commands"),
    [
        # DKMS's package goes with its module, because modprobe prefers that; what follows kernels takes its place.
        (
            {},
            (f"install {PREBUILT} linux-modules-nvidia-570-open-generic {KEPT}", "modprobe nvidia"),
        ),
        # Nothing takes the place of the package: only what it built for this kernel goes.
        (
            {"host__distribution__version": "25.10"},
            (f"install {PREBUILT}", f"dkms remove nvidia/570.169 -k {KERNEL}", "modprobe nvidia"),
        ),
        # nouveau keeps the GPU until the next boot.
        (
            {"pci__0__driver": "nouveau"},
            (f"install {PREBUILT} linux-modules-nvidia-570-open-generic {KEPT}", "reboot"),
        ),
        # NVIDIA's own packages do not fit Ubuntu's modules: first the key, of a module that is signed with it.
        (
            {"host__sources": (PackageSource(path="/etc/apt/sources.list.d/cuda.list", kind="nvidia"),)},
            ("--enroll-key", "reboot"),
        ),
    ],
)
def test_under_secure_boot_the_signed_module_replaces_that_of_dkms(
    changes: dict[str, Any], commands: tuple[str, ...]
) -> None:
    found = fixes("driver.refused-by-secure-boot", unloaded(**REFUSED | changes))[0].commands[-len(commands) :]
    assert all(one.endswith(end) for one, end in zip(found, commands, strict=True)), found


def test_an_unsigned_module_is_built_again() -> None:
    unsigned = unloaded(**REFUSED, nvidia__kernel__on_disk=(disk(signer=None),))
    enroll = fixes("driver.refused-by-secure-boot", unsigned)[1]
    assert enroll.commands[2:4] == (
        f"sudo dkms remove nvidia/570.169 -k {KERNEL}",
        f"sudo dkms install nvidia/570.169 -k {KERNEL}",
    )


@pytest.mark.parametrize(
    ("changes", "packages", "words"),
    [
        ({}, "nvidia-driver-580-open linux-modules-nvidia-580-open-generic", "that Ubuntu signed"),
        ({"host__kernel__release": "6.8.0-1034-oem"}, "nvidia-driver-580-open", "Enroll MOK"),
        ({"host__kernel__secure_boot": False}, "nvidia-driver-580-open", "then reboot."),
    ],
)
def test_a_driver_is_installed_with_modules_that_secure_boot_takes(
    changes: dict[str, Any], packages: str, words: str
) -> None:
    bare = {
        "nvidia__kernel__on_disk": (),
        "nvidia__nvml__libraries": (),
        "nvidia__cuda__libraries": (),
        "nvidia__nvml__code": None,
        "nvidia__cuda__code": None,
        "host__kernel__secure_boot": True,
    }
    (found,) = fixes("driver.not-installed", unloaded(**bare | changes))
    assert found.commands[-1] == f"sudo apt-get install {packages}"
    assert words in found.message


def _release(id_: str, version: str | None, *like: str) -> Distribution:
    return Distribution(id=id_, like=like, version=version, name=f"{id_} {version}")


@pytest.mark.parametrize(
    ("distribution", "words"),
    [
        (FEDORA, "rpmfusion-nonfree-release-42.noarch.rpm"),
        (_release("rhel", "9.4", "fedora"), "/rhel9/x86_64/cuda-rhel9.repo"),
        (_release("rocky", "8.10", "rhel", "fedora"), "install dnf-plugins-core epel-release"),
        (_release("amzn", "2023", "fedora"), "cuda-amzn2023.repo"),
        (_release("opensuse-leap", "15.6", "suse"), "openSUSE-repos-Leap-NVIDIA"),
        (_release("sles", "15.6", "suse"), "sle-module-NVIDIA-compute/15/x86_64"),
    ],
)
def test_the_repository_of_the_driver_comes_first_where_a_release_has_none(
    distribution: Distribution, words: str
) -> None:
    new = having(host__distribution=distribution, nvidia__kernel__packages=())
    first = install_driver(new, 580).commands
    assert any(words in c for c in first[:2])
    assert all(c.startswith("sudo ") for c in first)
    there = having(new, nvidia__kernel__packages=(("nvidia-open", "570.169", "ii"),))
    assert not any(words in c for c in install_driver(there, 580).commands)  # it came from one


@pytest.mark.parametrize("distribution", [_release("rhel", "10.0", "fedora"), _release("azurelinux", "4.0")])
def test_without_module_streams_the_branch_is_locked(distribution: Distribution) -> None:
    commands = install_driver(having(host__distribution=distribution), 580).commands
    assert not any("module enable" in c for c in commands)
    assert "sudo dnf versionlock add '*nvidia*580*'" in commands


@pytest.mark.parametrize(
    ("kernel", "headers"), [("6.15.4-arch2-1", "linux-headers"), ("6.12.30-1-lts", "linux-lts-headers")]
)
def test_on_arch_headers_come_with_the_driver_and_nothing_is_left_behind(kernel: str, headers: str) -> None:
    facts = having(host__distribution=_release("arch", None), host__kernel__release=kernel)
    assert install_driver(facts, 580).commands == (f"sudo pacman -Syu {headers} nvidia-open-dkms nvidia-utils",)


def test_a_branch_newer_than_debians_own_comes_from_nvidias_repository() -> None:
    new = having(host__distribution=BOOKWORM, nvidia__kernel__packages=(), host__kernel__release="6.1.0-28-cloud-amd64")
    fix = install_driver(new, 580, "open")
    assert "packages only up to branch 535, so it comes from NVIDIA's repository" in fix.message
    assert any("/debian12/x86_64/cuda-keyring_1.1-1_all.deb" in c for c in fix.commands)
    assert fix.commands[-2:] == (
        "sudo apt-get install nvidia-driver-pinning-580",
        "sudo apt-get install linux-image-cloud-amd64 linux-headers-cloud-amd64 nvidia-open",
    )
    own = install_driver(having(new, host__kernel__release=KERNEL), 580, "open")
    assert own.commands[-1] == f"sudo apt-get install linux-headers-{KERNEL} nvidia-open"
    old = install_driver(having(host__distribution=BOOKWORM, nvidia__kernel__packages=()), 535, "proprietary")
    assert not any("keyring" in c for c in old.commands)
