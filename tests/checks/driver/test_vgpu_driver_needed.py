"""A data center driver on a vGPU: the module refuses a GPU whose generation it supports."""

from typing import Any

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.driver.vgpu_driver_needed import vgpu_driver_needed
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import ask
from tests.checks.nvidia_machines import event, logged, unloaded

WHY = Unknown("not to be seen")
PASS = [("pass", "")]
SAYS = (
    "The GPU at 0000:01:00.0 (NVIDIA L40S) was refused by driver 570.86.15, whose branch supports it. In a virtual "
    "machine that shows a vGPU: a share of the host's GPU."
)


def guest(release: str = "570.86.15", **changes: Any) -> Facts:
    """A virtual machine whose log has the refusal of a driver that is gone again."""
    plain = {"host__virtual": "kvm", "pci__0__device": "26b9", "pci__0__name": "NVIDIA L40S"}
    refusal = event("nvrm-unsupported", text=f"NVIDIA {release} driver release", driver=release)
    return logged(refusal, facts=unloaded(**(plain | changes)))


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (guest(), [("problem", SAYS)]),
        (guest("510.47.03"), PASS),  # too old for Ada: driver.gpu-too-new
        (guest(pci__0__name="AD102 [GeForce RTX 4090]"), PASS),  # there is no vGPU of it; a new model, rather
        (guest(pci__0__generation=WHY), PASS),
        (guest(pci__0__driver="vfio-pci"), PASS),
        (guest(host__virtual=None), PASS),  # a new model of a known generation
        (guest(host__virtual=WHY), [("unknown", "not to be seen")]),
        (guest(host__container="docker"), PASS),
        (logged(facts=guest()), PASS),
    ],
)
def test_vgpu_driver_needed(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(vgpu_driver_needed, facts) == verdict


@pytest.mark.parametrize(
    ("release", "more"), [("570.86.15", ()), ("520.61.05", ("If the host passes the whole GPU through",))]
)
def test_a_newer_driver_is_offered_only_where_the_card_may_be_newer(release: str, more: tuple[str, ...]) -> None:
    fixes = run(vgpu_driver_needed, guest(release))[0].fixes
    first = "Install the vGPU guest (GRID) driver of the host's vGPU release"
    assert tuple(fix.message.partition(":")[0] for fix in fixes) == (first, *more)
