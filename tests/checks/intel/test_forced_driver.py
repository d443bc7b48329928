"""A card that force_probe gave to xe, and the compute runtime that has to find it there."""

from typing import Any

import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.intel.not_driven import not_driven
from gpudoctor.facts import Facts
from gpudoctor.knowledge.intel import runtime_for_forced
from gpudoctor.maybe import Unknown
from tests.checks.intel_machines import arc_host


def forced(build: Any, release: str = "6.14.11-2-pve", device: str = "56a0") -> Facts:
    return arc_host(
        host__kernel__command_line=f"i915.force_probe=!{device} xe.force_probe={device}",
        host__kernel__release=release,
        pci__1__device=device,
        pci__1__driver="xe",
        intel__runtime_build=build,
    )


@pytest.mark.parametrize(
    ("facts", "severity", "names_release"),
    [
        (forced(35096), Severity.WARNING, True),
        (forced(36710), Severity.WARNING, True),
        (forced(36711), Severity.ADVICE, False),
        (forced(37020), Severity.ADVICE, False),
        (forced(None), Severity.ADVICE, False),  # nothing here computes
        (forced(Unknown("no package names it")), Severity.ADVICE, False),
        # xe of older kernels stops every runtime
        (forced(35096, "6.8.0-60-generic"), Severity.WARNING, False),
        (forced(37020, "6.8.0-60-generic"), Severity.WARNING, False),
        (forced(35096, device="56c0"), Severity.ADVICE, False),  # nobody reported a Flex card
    ],
)
def test_a_runtime_that_does_not_find_the_card_on_xe(facts: Facts, severity: Severity, names_release: bool) -> None:
    (verdict,) = run(not_driven, facts)
    assert verdict.severity is severity
    assert ("as no release before 26.01.36711.4 does" in verdict.message) is names_release
    assert len(verdict.fixes) == 1 + names_release
    assert verdict.fixes[0].message.startswith("Let i915 drive the card again.")


def test_what_it_says_and_the_newer_runtime() -> None:
    (verdict,) = run(not_driven, forced(35096))
    assert verdict.message == (
        "The Intel GPU at 0000:03:00.0 (DG2 [Arc A770]) is bound to xe of kernel 6.14.11-2-pve by "
        "i915.force_probe=!56a0 xe.force_probe=56a0: for this card xe is experimental, and Intel's compute runtime "
        "(build 35096) does not find it there, as no release before 26.01.36711.4 does: Level Zero and OpenCL need "
        "i915, or a newer runtime."
    )
    newer = verdict.fixes[1]
    assert newer.message.startswith("To keep xe: install Intel's compute runtime 26.01.36711.4 or newer (https://")
    assert newer.commands[1].startswith("sudo apt-get install --only-upgrade '~i~n^libze-intel-gpu'")


@pytest.mark.parametrize(
    ("device", "module", "expected"),
    [
        ("56b1", "xe", ("26.01.36711.4", 36711)),
        ("56a0", "xe", ("26.01.36711.4", 36711)),
        ("56a0", "i915", None),
        ("e20b", "xe", None),
        ("4680", "xe", None),
    ],
)
def test_runtime_for_forced(device: str, module: str, expected: tuple[str, int] | None) -> None:
    assert runtime_for_forced(device, module) == expected
