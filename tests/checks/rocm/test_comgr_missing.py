"""ROCm's HIP runtime and COMGR, which it opens by name."""

from typing import Any

import pytest

from gpudoctor.checks.rocm.comgr_missing import comgr_missing
from gpudoctor.facts import Distribution, Facts
from gpudoctor.maybe import Unknown
from tests.builders import change
from tests.checks.amd_machines import amd_host
from tests.checks.environments import commands, one, severity

HIP = "/opt/rocm/lib/libamdhip64.so.7"
LACKS = ("libamd_comgr.so.3",)
SAYS = f"{HIP} needs libamd_comgr.so.3, which is neither next to it nor where the loader looks."


def host(family: str = "arch", **amd: Any) -> Facts:
    """An AMD machine without a framework."""
    facts = amd_host(**{"hip": HIP, "hip_lacks": LACKS, **amd})
    return change(change(facts, "pythons", ()), "host.distribution", Distribution(id=family))


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (host(), ("problem", SAYS)),
        (host(hip_lacks=()), ("pass", "")),
        (host(hip=None, hip_lacks=Unknown("closed")), ("pass", "")),
        (host(hip_lacks=Unknown("closed")), ("unknown", "closed")),
        (host(hip=Unknown("closed")), ("unknown", "closed")),
    ],
)
def test_comgr_missing(facts: Facts, verdict: tuple[str, str]) -> None:
    assert one(comgr_missing, facts) == verdict


def test_a_wheel_that_works_makes_it_a_warning() -> None:
    assert severity(comgr_missing, host()) == "fail"
    assert severity(comgr_missing, amd_host(hip=HIP, hip_lacks=LACKS)) == "warn"


@pytest.mark.parametrize(
    ("family", "path", "typed"),
    [
        ("arch", "/opt/rocm", "pacman -S comgr"),
        ("ubuntu", "/opt/rocm", "apt-get install comgr"),
        ("debian", "/usr", "apt-get install libamd-comgr3"),
        ("fedora", "/usr", "dnf install rocm-comgr"),
        ("fedora", "/opt/rocm", "dnf install comgr"),
        ("gentoo", "/opt/rocm", ""),
    ],
)
def test_the_package_with_it(family: str, path: str, typed: str) -> None:
    said = commands(comgr_missing, host(family, rocm_path=path))
    assert typed in said
    assert typed or "Install the package of ROCm that contains libamd_comgr.so.3 (comgr)." in said
