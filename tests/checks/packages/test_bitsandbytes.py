"""bitsandbytes has a binary for PyTorch's CUDA or ROCm."""

import pytest

from gpudoctor.checks.packages.bitsandbytes_no_binary import bitsandbytes_no_binary
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import change, framework, with_framework
from tests.checks.amd_machines import amd_host
from tests.checks.environments import commands, environment, one, package, torch


def bnb(*releases: str, cuda: str = "12.9", version: str = "0.46.0") -> Facts:
    names = tuple(f"libbitsandbytes_cuda{release}.so" for release in releases)
    return environment(torch("2.8.0", cuda=cuda), packages=(package("bitsandbytes", version, libraries=names),))


def test_bitsandbytes_no_binary() -> None:
    facts = bnb("118", "126", "128")
    expected = (
        "bitsandbytes 0.46.0 has no libbitsandbytes_cuda129.so for CUDA 12.9 of PyTorch 2.8.0; it has binaries for "
        "118, 126, 128."
    )
    assert one(bitsandbytes_no_binary, facts) == ("problem", expected)
    assert "export BNB_CUDA_VERSION=128" in commands(bitsandbytes_no_binary, facts)
    assert one(bitsandbytes_no_binary, bnb("118", "129")) == ("pass", "")
    assert one(bitsandbytes_no_binary, change(facts, "host.environment", {"BNB_CUDA_VERSION": "128"})) == ("pass", "")
    assert one(bitsandbytes_no_binary, bnb()) == ("pass", "")
    closed = change(facts, "pythons.0.packages", Unknown("closed"))
    assert one(bitsandbytes_no_binary, closed) == ("unknown", "closed")


@pytest.mark.parametrize(
    ("release", "there", "cuda", "verdict"),
    [
        ("0.49.2", ("118", "128"), "12.9", "problem"),
        ("0.50.0", ("118", "128"), "12.9", "pass"),  # it loads the nearest one of the same major
        ("0.50.0", ("118", "128"), "13.0", "problem"),
    ],
)
def test_bitsandbytes_takes_the_nearest_binary(release: str, there: tuple[str, ...], cuda: str, verdict: str) -> None:
    facts = bnb(*there, cuda=cuda, version=release)
    assert one(bitsandbytes_no_binary, facts)[0] == verdict
    assert ("BNB_CUDA_VERSION" in commands(bitsandbytes_no_binary, facts)) == (release == "0.49.2")


def bnb_rocm(release: str, hip: str, *there: str) -> Facts:
    names = (*(f"libbitsandbytes_rocm{each}.so" for each in there), "libbitsandbytes_cuda128.so")
    facts = with_framework(framework("torch", "2.12.0", cuda=None, hip=hip, variant="rocm"), amd_host())
    return change(facts, "pythons.0.packages", (package("bitsandbytes", release, libraries=names),))


@pytest.mark.parametrize(
    ("release", "hip", "there", "verdict"),
    [
        ("0.49.2", "7.2.26015", ("64", "72"), "pass"),
        ("0.49.2", "7.14.26201", ("64", "72"), "problem"),
        ("0.49.2", "7.14.26201", ("64", "714"), "problem"),  # it looks for 84
        ("0.50.0", "7.14.26201", ("64", "72"), "pass"),
        ("0.50.0", "10.0.1", ("64", "72"), "problem"),
    ],
)
def test_bitsandbytes_for_rocm(release: str, hip: str, there: tuple[str, ...], verdict: str) -> None:
    assert one(bitsandbytes_no_binary, bnb_rocm(release, hip, *there))[0] == verdict


def test_bitsandbytes_of_pypi_without_rocm() -> None:
    facts = bnb_rocm("0.48.2", "6.4.43482")
    expected = "bitsandbytes 0.48.2 has binaries for CUDA alone, and none for ROCm 6.4 of PyTorch 2.12.0."
    assert one(bitsandbytes_no_binary, facts) == ("problem", expected)
    assert "--upgrade bitsandbytes" in commands(bitsandbytes_no_binary, facts)
    own = change(
        facts, "pythons.0.packages", (package("bitsandbytes", "0.48.2", libraries=("libbitsandbytes_cpu.so",)),)
    )
    assert one(bitsandbytes_no_binary, own) == ("pass", "")


def test_bitsandbytes_calculates_the_name_of_its_binary() -> None:
    facts = bnb_rocm("0.49.2", "7.14.26201", "64", "72")
    expected = (
        "bitsandbytes 0.49.2 has no libbitsandbytes_rocm84.so for ROCm 7.14 of PyTorch 2.12.0 (before 0.50 it "
        "calculates the number as major * 10 + minor); it has binaries for 64, 72."
    )
    assert one(bitsandbytes_no_binary, facts) == ("problem", expected)
    typed = commands(bitsandbytes_no_binary, facts)
    assert "--upgrade bitsandbytes" in typed
    assert "BNB_" not in typed  # which 0.49 does not read
    unknown = change(facts, "pythons.0.frameworks.0.hip", Unknown("closed"))
    assert one(bitsandbytes_no_binary, unknown) == ("unknown", "closed")
