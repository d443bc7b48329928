"""Modules that a distribution has ready for each of its kernels, where the running one has none."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Fix
from gpudoctor.facts import Distribution
from tests.checks.nvidia_machines import disk, having, unloaded

MANJARO = Distribution(id="manjaro", like=("arch",), version=None, codename=None, name="Manjaro Linux")
LEAP = Distribution(id="opensuse-leap", like=("suse", "opensuse"), version="16.0", codename=None, name="openSUSE Leap")


def fixes(distribution: Distribution, release: str, other: str, package: str) -> list[Fix]:
    """What is advised where the installed package has the module of another kernel."""
    plain: dict[str, Any] = {
        "host__distribution": distribution,
        "host__kernel__release": release,
        "nvidia__kernel__on_disk": (),
        "nvidia__kernel__dkms": None,
        "nvidia__kernel__other_kernels": (disk(kernel=other),),
        "nvidia__kernel__packages": ((package, "590.48.01", "installed"),),
    }
    return list(catalogue.load(["driver.built-for-another-kernel"])[0].fixes_for(having(unloaded(), **plain)))


@pytest.mark.parametrize(
    ("package", "wanted"),
    [
        ("linux612-nvidia-open", "linux618-nvidia-open"),
        ("linux612-nvidia", "linux618-nvidia"),
        ("nvidia-utils", "linux618-nvidia"),
    ],
)
def test_manjaros_package_stays_of_its_kind(package: str, wanted: str) -> None:
    fix = fixes(MANJARO, "6.18.2-1-MANJARO", "6.12.61-1-MANJARO", package)[0]
    assert fix.commands == (f"sudo pacman -S {wanted}", "sudo modprobe nvidia")


@pytest.mark.parametrize(
    ("package", "first"),
    [
        ("nvidia-open-driver-G06-signed-cuda-kmp-default", "sudo zypper refresh"),  # has it ready
        ("nvidia-driver-G06-kmp-default", "sudo zypper install kernel-default-devel"),  # compiles it
    ],
)
def test_a_signed_package_of_suse_is_upgraded(package: str, first: str) -> None:
    found = fixes(LEAP, "6.12.0-160000.8-default", "6.12.0-160000.5-default", package)
    assert found[0].commands[0] == first
    assert ("If there is none yet: boot kernel" in found[-1].message) == ("signed" in package)
