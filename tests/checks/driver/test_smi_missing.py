"""A driver that works without nvidia-smi, by the packages that are installed."""

from typing import Any

import pytest

from gpudoctor.checks.driver.smi_missing import smi_missing
from gpudoctor.facts import Facts
from gpudoctor.knowledge.packages import smi_package
from gpudoctor.maybe import Unknown
from tests.builders import ask
from tests.checks.environments import commands
from tests.checks.nvidia_machines import having

WHY = Unknown("not to be seen")
PASS, UNKNOWN = ("pass", ""), ("unknown", "not to be seen")
HEADLESS = ("nvidia-headless-570", "libnvidia-compute-570", "nvidia-compute-utils-570")
SAYS = "The NVIDIA driver 570.169 works, but there is no nvidia-smi: the package nvidia-utils-570 is not installed."


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
        (headless(*HEADLESS, "nvidia-utils-570"), PASS),  # it is somewhere
        (headless("cuda-drivers"), PASS),  # of no known source
        (headless(nvidia__kernel__packages=()), PASS),
        (headless(nvidia__kernel__packages=WHY), UNKNOWN),
        (headless(nvidia__nvml__smi=WHY), UNKNOWN),
        (headless(nvidia__nvml__code=WHY), UNKNOWN),
        (headless(host__container="docker"), ("skipped", "")),
        (headless(nvidia__kernel__packages=(("libnvidia-compute-570", "570", "rc"),)), PASS),
    ],
)
def test_smi_missing(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(smi_missing, facts) == [verdict]


def test_the_package_is_installed() -> None:
    assert "sudo apt-get install nvidia-utils-570" in commands(smi_missing, headless())


@pytest.mark.parametrize(
    ("installed", "name"),
    [
        (("libnvidia-compute-580-server",), "nvidia-utils-580-server"),
        (("libnvidia-compute-570", "libnvidia-compute-580"), "nvidia-utils-580"),
        (("nvidia-alternative", "libcuda1"), "nvidia-smi"),
        (("nvidia-alternative", "nvidia-smi"), None),
        (("xorg-x11-drv-nvidia-cuda-libs",), "xorg-x11-drv-nvidia-cuda"),
        (("nvidia-utils",), None),
        ((), None),
    ],
)
def test_the_package_of_each_source(installed: tuple[str, ...], name: str | None) -> None:
    assert smi_package(installed) == name
