"""A driver that works without nvidia-smi, by the packages that are installed."""

from typing import Any

import pytest

from gpudoctor.checks.driver.smi_missing import smi_missing
from gpudoctor.facts import Facts
from gpudoctor.knowledge.packages import smi_packages
from gpudoctor.maybe import Unknown
from tests.builders import ask
from tests.checks.environments import commands
from tests.checks.nvidia_machines import having

WHY = Unknown("not to be seen")
PASS, UNKNOWN = ("pass", ""), ("unknown", "not to be seen")
HEADLESS = ("nvidia-headless-570", "libnvidia-compute-570", "nvidia-compute-utils-570")
BARE = "The NVIDIA driver 570.169 works, but there is no nvidia-smi"
SAYS = f"{BARE}: the package nvidia-utils-570 is not installed."
CUDA_REPOSITORY = ("nvidia-driver-cuda-libs", "kmod-nvidia-open-dkms", "nvidia-driver-libs")


def headless(*names: str, **changes: Any) -> Facts:
    """A machine on which CUDA works, and nvidia-smi is nowhere."""
    packages = tuple((name, "570.169-0ubuntu1", "ii") for name in names or HEADLESS)
    plain = {
        "nvidia__nvml__smi": None,
        "nvidia__nvml__smi_elsewhere": None,
        "nvidia__nvml__driver_version": "570.169",
        "nvidia__kernel__packages": packages,
    }
    return having(**(plain | changes))


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (headless(), ("problem", SAYS)),
        (headless(nvidia__nvml__driver_version=WHY), ("problem", SAYS.replace(" 570.169", "", 1))),
        (headless(nvidia__nvml__smi="/usr/bin/nvidia-smi"), PASS),
        (headless(nvidia__nvml__smi_elsewhere="/opt/bin/nvidia-smi"), PASS),
        (headless(nvidia__nvml__code=9), PASS),  # the driver does not work: another check's
        (
            headless(*HEADLESS, "nvidia-utils-570"),
            ("unknown", "nvidia-smi is in none of the usual directories, but nvidia-utils-570 is installed"),
        ),
        (headless(*CUDA_REPOSITORY), ("problem", f"{BARE}: the package nvidia-driver-cuda is not installed.")),
        (headless("libnvidia-compute"), ("problem", f"{BARE}.")),  # of no known source
        (headless(nvidia__kernel__packages=()), ("problem", f"{BARE}.")),
        (headless(nvidia__kernel__packages=WHY), UNKNOWN),
        (headless(nvidia__nvml__smi=WHY), UNKNOWN),
        (headless(nvidia__nvml__code=WHY), UNKNOWN),
        (headless(host__container="docker"), ("skipped", "")),
        (headless(nvidia__kernel__packages=(("libnvidia-compute-570", "570", "rc"),)), ("problem", f"{BARE}.")),
    ],
)
def test_smi_missing(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(smi_missing, facts) == [verdict]


def test_the_package_is_installed() -> None:
    assert "sudo apt-get install nvidia-utils-570" in commands(smi_missing, headless())
    assert "sudo" not in commands(smi_missing, headless("libnvidia-compute"))


@pytest.mark.parametrize(
    ("installed", "names"),
    [
        (("libnvidia-compute-580-server",), ("nvidia-utils-580-server",)),
        (("libnvidia-compute-570", "libnvidia-compute-580"), ("nvidia-utils-580", "nvidia-utils-570")),
        (("nvidia-alternative", "libcuda1"), ("nvidia-smi",)),
        (("xorg-x11-drv-nvidia-cuda-libs",), ("xorg-x11-drv-nvidia-cuda",)),
        (CUDA_REPOSITORY, ("nvidia-driver-cuda",)),
        (("nvidia-compute-G06", "nvidia-open-driver-G06-signed-kmp-default"), ("nvidia-compute-utils-G06",)),
        (("nvidia-utils",), ()),
        ((), ()),
    ],
)
def test_the_packages_of_each_source(installed: tuple[str, ...], names: tuple[str, ...]) -> None:
    assert smi_packages(installed) == names
