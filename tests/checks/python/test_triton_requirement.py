"""What pip check says about Triton is reported by exactly one check."""

import pytest

from gpudoctor.checks.packages.triton_mismatch import triton_mismatch
from gpudoctor.checks.python.unmet_requirement import unmet_requirement
from gpudoctor.facts import Facts, UnmetRequirement
from gpudoctor.parsers.metadata import required_name
from tests.builders import plain_host
from tests.checks.environments import commands, environment, one, package, severity, torch


def with_triton(requires: str, found: str, by: str = "torch", facts: Facts | None = None) -> Facts:
    unmet = UnmetRequirement(package=by, version="2.7.1", requires=requires, found=found)
    there = package(required_name(requires), found)
    return environment(torch(), packages=(there,), unmet=(unmet,), facts=facts)


@pytest.mark.parametrize(
    ("requires", "found", "minor"),
    [
        ("triton==3.3.1", "3.1.0", True),
        ("triton~=3.9.0", "3.1.0", True),  # as PyTorch 2.15 requires it
        ("triton <3.10,>=3.9", "3.1.0", True),
        ("triton<3.10,>=3.9", "3.10.1", True),
        ("triton<3", "3.1.0", True),
        ("pytorch-triton==3.3.1", "3.1.0", True),
        ("triton==3.3.1", "3.3.0", False),  # a patch release: torch.compile works
        ("triton~=3.9.1", "3.9.0", False),
    ],
)
def test_one_check_tells_of_it(requires: str, found: str, minor: bool) -> None:
    facts = with_triton(requires, found)
    said = f"torch 2.7.1 requires {requires}"
    if minor:
        assert one(triton_mismatch, facts) == ("problem", f"{said}, but {found} is installed.")
        assert one(unmet_requirement, facts) == ("pass", "")
        assert requires.replace(" ", "") in commands(triton_mismatch, facts)
    else:
        assert one(triton_mismatch, facts) == ("pass", "")
        assert one(unmet_requirement, facts) == ("problem", f"{said}, found: {found}.")
        assert severity(unmet_requirement, facts) == "advice"


@pytest.mark.parametrize("found", ["3.1.0", "3.3.0"])
def test_nothing_compiles_without_a_gpu_and_it_does_not_hold_all_the_same(found: str) -> None:
    facts = with_triton("triton==3.3.1", found, facts=plain_host())
    assert one(triton_mismatch, facts) == ("pass", "")
    assert one(unmet_requirement, facts)[0] == "problem"
    assert severity(unmet_requirement, facts) == "advice"


def test_what_another_package_requires_of_it() -> None:
    facts = with_triton("triton>=3.4", "3.3.1", by="vllm")
    assert one(triton_mismatch, facts) == ("pass", "")
    assert one(unmet_requirement, facts) == ("problem", "vllm 2.7.1 requires triton>=3.4, found: 3.3.1.")
