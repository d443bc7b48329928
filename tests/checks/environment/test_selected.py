"""Variables that select one of a package's libraries."""

from typing import Any

import pytest

from gpudoctor.checks.environment.selected_library_missing import selected_library_missing
from gpudoctor.checks.packages.bitsandbytes_no_binary import bitsandbytes_no_binary
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import change
from tests.checks.amd_machines import amd_host
from tests.checks.environments import commands, environment, one, package, torch

CUDA = tuple(f"libbitsandbytes_cuda{n}.so" for n in ("118", "125", "126_nocublaslt", "126"))
ROCM = ("libbitsandbytes_rocm62.so", "libbitsandbytes_rocm63.so", "libbitsandbytes_cuda126.so")


def machine(libraries: tuple[str, ...] = CUDA, cuda: Any = "12.6", **variables: str) -> Facts:
    found = package("bitsandbytes", "0.45.3", libraries=libraries)
    facts = environment(torch("2.6.0", cuda=cuda), packages=(found,))
    return change(facts, "host.environment", variables)


SAID = (
    "BNB_CUDA_VERSION={} makes bitsandbytes 0.45.3 load libbitsandbytes_cuda{}.so, which it does not contain; it has "
    "118, 125, 126."
)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (machine(), ("pass", "")),
        (machine(BNB_CUDA_VERSION=""), ("pass", "")),
        (machine(BNB_CUDA_VERSION="118"), ("pass", "")),
        (machine(("libother.so",), BNB_CUDA_VERSION="124"), ("pass", "")),
        (machine(BNB_CUDA_VERSION="124"), ("problem", SAID.format("124", "124"))),
        (change(machine(BNB_CUDA_VERSION="124"), "pythons.0.packages", ()), ("pass", "")),
        (
            change(machine(BNB_CUDA_VERSION="124"), "pythons.0.frameworks.0.variant", Unknown("closed")),
            ("unknown", "closed"),
        ),
    ],
)
def test_selected_library_missing(facts: Facts, verdict: tuple[str, str]) -> None:
    assert one(selected_library_missing, facts) == verdict


def test_without_the_variable_pytorchs_own_release_is_loaded() -> None:
    said = commands(selected_library_missing, machine(BNB_CUDA_VERSION="124"))
    assert "unset BNB_CUDA_VERSION" in said
    assert "libbitsandbytes_cuda126.so" in said
    assert one(bitsandbytes_no_binary, machine(BNB_CUDA_VERSION="124")) == ("pass", "")


def test_where_pytorchs_own_is_missing_too_the_nearest_of_its_major_is_named() -> None:
    assert "export BNB_CUDA_VERSION=126" in commands(
        selected_library_missing, machine(cuda="12.8", BNB_CUDA_VERSION="129")
    )
    assert "unset" in commands(selected_library_missing, machine(cuda="13.0", BNB_CUDA_VERSION="129"))


def test_rocm_has_a_variable_of_its_own() -> None:
    found = package("bitsandbytes", "0.50.0", libraries=ROCM)
    facts = change(amd_host(), "pythons.0.packages", (found,))
    right, wrong = ({"BNB_ROCM_VERSION": value} for value in ("62", "70"))
    assert one(selected_library_missing, change(facts, "host.environment", right)) == ("pass", "")
    outcome, message = one(selected_library_missing, change(facts, "host.environment", wrong))
    assert outcome == "problem"
    assert message.endswith("load libbitsandbytes_rocm70.so, which it does not contain; it has 62, 63.")
    assert one(selected_library_missing, change(facts, "host.environment", {"BNB_CUDA_VERSION": "70"})) == ("pass", "")
