"""Several cards of Intel's, of which Level Zero lists fewer: the compute runtime's bug, or no known one."""

from typing import Any

import msgspec
import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.intel.fewer_gpus import fewer_gpus
from gpudoctor.checks.intel.no_gpu import no_gpu
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import ask, live
from tests.checks.intel_machines import ARC, UHD, arc_host, xpu

B60 = msgspec.structs.replace(ARC, device="e211", name="Battlemage G21 [Arc Pro B60]", driver="xe")
UNREADABLE = Unknown("not to be read")
FEWER = "PyTorch 2.9.1+xpu sees 1 of the 2 Intel GPUs that the kernel drives."
BUG = (
    "Intel's compute runtime (build 37020) has a known bug: Level Zero lists only one of several Battlemage cards, "
    "because it starts their engines too late."
)


def pair(seen: int = 1, build: object = 37020, device: str = "e211", **changes: Any) -> Facts:
    """Two cards, of which PyTorch sees so many."""
    cards = tuple(msgspec.structs.replace(B60, device=device, address=f"0000:0{n}:00.0") for n in (3, 7))
    plain: dict[str, Any] = {"pci": (UHD, *cards), "intel__runtime_build": build}
    return arc_host(xpu(seen), **(plain | changes))


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (pair(), ("problem", f"{FEWER} {BUG}")),
        (pair(build=36000), ("problem", FEWER)),  # 25.40
        (pair(build=38646), ("problem", FEWER)),  # newer than what is known to have it
        (pair(build=UNREADABLE), ("problem", FEWER)),
        (pair(device="56a0"), ("problem", FEWER)),  # Alchemist
        (pair(2), ("pass", "")),
        (pair(0), ("pass", "")),  # intel.no-gpu
        (pair(host__environment={"ZE_AFFINITY_MASK": "0"}), ("pass", "")),
        (pair(host__environment={"ONEAPI_DEVICE_SELECTOR": "level_zero:1"}), ("pass", "")),
        (pair(host__container="docker"), ("pass", "")),  # the builder's one render node: it was given one of two
        (pair(pci=(UHD, B60)), ("pass", "")),
        (pair(pci=(B60, msgspec.structs.replace(B60, address="0000:07:00.0", driver="vfio-pci"))), ("pass", "")),
        (pair(pythons__0__frameworks__0__live=live(1, available=UNREADABLE)), ("unknown", "not to be read")),
    ],
)
def test_fewer_gpus(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(fewer_gpus, facts) == [verdict]


@pytest.mark.parametrize(("build", "known"), [(37020, True), (38646, False)])
@pytest.mark.parametrize("seen", [0, 1])
def test_the_runtimes_bug_is_fixed_by_another_release(seen: int, build: int, known: bool) -> None:
    (verdict,) = run(fewer_gpus if seen else no_gpu, pair(seen, build))
    assert verdict.problem is not None
    assert (BUG in verdict.problem.message) is known
    assert ("25.40" in verdict.fixes[0].message) is known
    assert len(verdict.fixes) == 1 + known


def test_one_card_has_nothing_to_lose() -> None:
    ((_, message),) = ask(no_gpu, pair(0, pci=(UHD, B60)))
    assert "known bug" not in message
