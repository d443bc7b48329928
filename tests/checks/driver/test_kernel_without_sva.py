"""GB10 with a kernel that shares no page tables."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import judge
from gpudoctor.checks.driver.kernel_without_sva import kernel_without_sva
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from gpudoctor.root_causes import findings
from tests.builders import ask, nvidia_host
from tests.checks.nvidia_machines import having

WHY = Unknown("/boot/config-6.12.0 cannot be read")


def _spark(**changes: Any) -> Facts:
    plain = {
        "nvidia__kernel__sva_missing": True,
        "nvidia__cuda__code": 3,
        "nvidia__kernel__parameters": {"uvm_disable_hmm": "N"},
    }
    return having(nvidia_host(), **(plain | changes))


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (
            _spark(),
            (
                "problem",
                "cuInit returns 3: this kernel is built without CONFIG_ARM_SMMU_V3_SVA, which CUDA needs on GB10.",
            ),
        ),
        (_spark(nvidia__kernel__sva_missing=False), ("pass", "")),
        (_spark(nvidia__kernel__sva_missing=None), ("pass", "")),
        (_spark(nvidia__cuda__code=0), ("pass", "")),
        (_spark(nvidia__cuda__code=999), ("pass", "")),
        (_spark(nvidia__kernel__sva_missing=WHY), ("unknown", WHY.unknown)),
    ],
)
def test_kernel_without_sva(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(kernel_without_sva, facts) == [verdict]


def test_hmm_is_not_blamed_for_it() -> None:
    found, _ = findings(judge(_spark(), catalogue.load(catalogue.select(catalogue.ids(), ("driver", "fabric"), ()))))
    assert [finding.root.check.id for finding in found] == ["driver.kernel-without-sva"]
