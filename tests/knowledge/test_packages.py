"""Names of packages and commands of package managers."""

# ruff: noqa: E501 - one row of the table, one line.

import pytest

from gpudoctor.knowledge import packages
from gpudoctor.knowledge.packages import Family, Flavour
from gpudoctor.tasks.as_typed import shown, typed


@pytest.mark.parametrize(
    ("distro_id", "like", "found"),
    [
        ("ubuntu", ("debian",), "debian"),
        ("pop", ("ubuntu", "debian"), "debian"),
        ("rocky", ("rhel", "centos", "fedora"), "fedora"),
        ("opensuse-leap", ("suse", "opensuse"), "suse"),
        ("arch", (), "arch"),
        ("Manjaro", (), "arch"),
        ("new-thing", ("ubuntu", "debian"), "debian"),
        ("alpine", (), None),
        ("", (), None),
    ],
)
def test_family(distro_id: str, like: tuple[str, ...], found: str | None) -> None:
    assert packages.family(distro_id, like) == found


@pytest.mark.parametrize(
    ("family", "command"),
    [
        ("debian", "sudo apt-get install a b"),
        ("fedora", "sudo dnf install a b"),
        ("suse", "sudo zypper install a b"),
        ("arch", "sudo pacman -S a b"),
    ],
)
def test_install_command(family: Family, command: str) -> None:
    assert shown(packages.install_command(family, ["a", "b"])) == command
    assert packages.install_command(family, ["a", "b"]).root


def test_other_commands() -> None:
    assert shown(packages.reinstall_command("debian", ["a"])) == "sudo apt-get install --reinstall a"
    assert shown(packages.remove_command("arch", ["a"])) == "sudo pacman -Rns a"
    assert shown(packages.refresh_command("suse")) == "sudo zypper refresh"


@pytest.mark.parametrize(
    ("family", "distro_id", "branch", "flavor", "names", "origin"),
    [
        ("debian", "ubuntu", 580, "open", "nvidia-driver-580-open", "distribution"),
        ("debian", "ubuntu", 470, "proprietary", "nvidia-driver-470", "distribution"),
        ("debian", "debian", 580, "open", "nvidia-open-kernel-dkms nvidia-driver libcuda1 nvidia-smi firmware-misc-nonfree", "distribution"),
        ("debian", "debian", 550, "proprietary", "nvidia-driver libcuda1 nvidia-smi firmware-misc-nonfree", "distribution"),
        ("debian", "debian", 470, "proprietary", "nvidia-tesla-470-driver", "distribution"),
        ("fedora", "fedora", 595, "open", "akmod-nvidia xorg-x11-drv-nvidia-cuda", "RPM Fusion"),
        ("fedora", "fedora", 580, "proprietary", "akmod-nvidia-580xx xorg-x11-drv-nvidia-580xx-cuda", "RPM Fusion"),
        ("fedora", "fedora", 390, "proprietary", "akmod-nvidia-390xx xorg-x11-drv-nvidia-390xx-cuda", "RPM Fusion"),
        ("fedora", "rhel", 580, "open", "nvidia-open", "NVIDIA"),
        ("fedora", "rocky", 580, "proprietary", "cuda-drivers", "NVIDIA"),
        ("suse", "opensuse-leap", 580, "open", "nvidia-open-driver-G06-signed-kmp-meta nvidia-compute-utils-G06", "distribution"),
        ("suse", "sles", 595, "open", "nvidia-open-driver-G07-signed-kmp-meta nvidia-compute-utils-G07", "distribution"),
        ("arch", "arch", 595, "open", "nvidia-open-dkms nvidia-utils", "distribution"),
        ("arch", "arch", 580, "proprietary", "nvidia-580xx-dkms nvidia-580xx-utils", "AUR"),
        ("arch", "arch", 470, "proprietary", "nvidia-470xx-dkms nvidia-470xx-utils", "AUR"),
        ("arch", "cachyos", 470, "proprietary", "nvidia-470xx-dkms nvidia-470xx-utils", "distribution"),
        ("arch", "cachyos", 580, "proprietary", "nvidia-580xx-dkms nvidia-580xx-utils", "distribution"),
    ],
)  # fmt: skip
def test_driver_packages(family: Family, distro_id: str, branch: int, flavor: Flavour, names: str, origin: str) -> None:
    found = packages.driver_packages(family, distro_id, branch, flavor)
    assert found is not None
    assert (" ".join(found.names), found.origin) == (names, origin)


def test_a_driver_for_a_kernel() -> None:
    found = packages.driver_packages("debian", "ubuntu", 570, "open", "6.8.0-60-generic")
    assert found is not None
    assert found.dkms == "nvidia-dkms-570-open"
    assert found.prebuilt == "linux-modules-nvidia-570-open-6.8.0-60-generic"
    other = packages.driver_packages("debian", "ubuntu", 570, "open")
    assert other is not None
    assert other.prebuilt == "linux-modules-nvidia-570-open-KERNEL"


def test_what_comes_before() -> None:
    found = packages.driver_packages("fedora", "rhel", 580, "open")
    assert found is not None
    assert typed(found.before) == ("sudo dnf module enable nvidia-driver:580-open",)


@pytest.mark.parametrize(
    ("family", "distro_id", "branch", "flavor"),
    [("debian", "ubuntu", 470, "open"), ("arch", "arch", 595, "proprietary"), ("fedora", "rhel", 390, "proprietary")],
)
def test_no_such_driver(family: Family, distro_id: str, branch: int, flavor: Flavour) -> None:
    assert packages.driver_packages(family, distro_id, branch, flavor) is None


@pytest.mark.parametrize(
    ("family", "kernel", "name"),
    [
        ("debian", "6.8.0-31-generic", "linux-headers-6.8.0-31-generic"),
        ("debian", "6.17.2-1-pve", "proxmox-headers-6.17.2-1-pve"),
        ("debian", "5.15.158-2-pve", "pve-headers-5.15.158-2-pve"),
        ("fedora", "6.14.4-300.fc42.x86_64", "kernel-devel-6.14.4-300.fc42.x86_64"),
        ("suse", "6.4.0-150600.23-default", "kernel-default-devel"),
        ("arch", "6.14.4-arch1-1", "linux-headers"),
        ("arch", "6.12.4-1-MANJARO", "linux612-headers"),
        ("arch", "6.12.25-1-lts", "linux-lts-headers"),
        ("arch", "6.14.4-zen1-1-zen", "linux-zen-headers"),
        ("arch", "6.13.2-3-cachyos", "linux-cachyos-headers"),
        ("arch", "6.18.28-1-cachyos-lts", "linux-cachyos-lts-headers"),
        ("arch", "7.1.0-rc3-2-cachyos-rc", "linux-cachyos-rc-headers"),
        ("fedora", "6.12.9-cb1.0.fc41.x86_64", "kernel-cachyos-devel-matched"),
        ("fedora", "6.17.8-cachyos1.fc43.x86_64", "kernel-cachyos-devel-matched"),
        ("fedora", "5.15.0-304.171.4.el9uek.x86_64", "kernel-uek-devel-5.15.0-304.171.4.el9uek.x86_64"),
        ("fedora", "5.14.0-503.11.1.el9_5.x86_64", "kernel-devel-5.14.0-503.11.1.el9_5.x86_64"),
        ("fedora", "5.14.0-503.11.1.el9_5.aarch64+64k", "kernel-64k-devel-5.14.0-503.11.1.el9_5.aarch64"),
        ("fedora", "5.14.0-503.11.1.el9_5.x86_64+rt", "kernel-rt-devel-5.14.0-503.11.1.el9_5.x86_64"),
        ("fedora", "6.1.141-155.222.amzn2023.x86_64", "kernel-devel-6.1.141-155.222.amzn2023.x86_64"),
        ("fedora", "6.12.37-61.105.amzn2023.x86_64", "kernel6.12-devel-6.12.37-61.105.amzn2023.x86_64"),
        ("fedora", "5.10.237-230.949.amzn2.x86_64", "kernel-devel-5.10.237-230.949.amzn2.x86_64"),
    ],
)
def test_headers_package(family: Family, kernel: str, name: str) -> None:
    assert packages.headers_package(family, kernel) == name


def test_common_packages() -> None:
    assert packages.compiler_packages("debian") == ("build-essential",)
    assert packages.compiler_packages("arch") == ("base-devel",)
    assert packages.python_headers_package("debian", "3.12.3") == "python3.12-dev"
    assert packages.python_headers_package("fedora", "3.12") == "python3.12-devel"
    assert packages.python_headers_package("suse", "3.12") == "python312-devel"
    assert packages.python_headers_package("arch", "3.13") == "python"
    assert packages.container_toolkit_package("suse") == "nvidia-container-toolkit"
    assert packages.fabric_manager_package("debian", 570) == "nvidia-fabricmanager-570"
    assert packages.fabric_manager_package("arch", 570) is None
    assert packages.cuda_toolkit_package("fedora", "12.8") == "cuda-toolkit-12-8"
    assert packages.cuda_toolkit_package("debian", "13") == "cuda-toolkit-13-0"
    assert packages.amd_firmware_package("debian", "debian") == "firmware-amd-graphics"
    assert packages.amd_firmware_package("debian", "ubuntu") == "linux-firmware"
    assert packages.amd_firmware_package("fedora") == "amd-gpu-firmware"


@pytest.mark.parametrize("family", ["debian", "fedora", "suse", "arch"])
def test_every_branch_has_a_driver_for_every_family(family: Family) -> None:
    for branch in (470, 535, 570, 580):
        assert packages.driver_packages(family, "", branch, "proprietary")
    for branch in (535, 580, 595, 610):
        assert packages.driver_packages(family, "", branch, "open")
