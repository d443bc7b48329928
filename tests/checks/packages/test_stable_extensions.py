"""xFormers, whose builds serve every later PyTorch, and of which PyPI has the one for a single CUDA release."""

from typing import Any

import pytest

from gpudoctor.checks.packages.built_for_another_torch import built_for_another_torch
from gpudoctor.checks.packages.extension_abi import extension_abi
from gpudoctor.facts import Extension, Facts, Package
from tests.builders import change
from tests.checks.amd_machines import amd_host
from tests.checks.environments import SITE, commands, environment, machine, package, torch

PIP = "/opt/env/bin/python -m pip"
NEWEST: dict[str, Any] = {"version": "0.0.35", "requires": ("torch>=2.10",), "built_with": "2.10.0+cu128"}
PINNED: dict[str, Any] = {"version": "0.0.33.post2", "requires": ("torch==2.9.1",), "built_with": "2.9.1+cu128"}
BACK = f"{PIP} install 'torch==2.10.*'"
REMOVED = f"{PIP} uninstall -y xformers"


def beside(
    live: str, installed: str, cuda: str, mine: dict[str, Any], *others: Package, facts: Facts | None = None
) -> Facts:
    """An xformers whose library needs CUDA 12's runtime, next to a PyTorch."""
    lacks = Extension(
        package="xformers",
        version=mine["version"],
        path=f"{SITE}/xformers/_C.so",
        needed=("libtorch.so",),
        missing=("libcudart.so.12",),
    )
    there = (package("torch", installed), package("xformers", **mine), *others)
    made = environment(torch(live, cuda=cuda), extensions=(lacks,), facts=facts or machine("13.0"))
    return change(made, "pythons.0.packages", there)


def typed(facts: Facts) -> list[str]:
    return [line for line in commands(extension_abi, facts).splitlines() if line.startswith((PIP, "PIP_"))]


def index(build: str) -> str:
    place = f"--index-url https://download.pytorch.org/whl/{build} 'xformers>=0.0.34'"
    return f"{PIP} install --force-reinstall --no-deps {place}"


@pytest.mark.parametrize(
    ("live", "installed", "cuda", "first", "then"),
    [
        # No build for CUDA 13.2: the PyTorch that it was built for is on PyPI, and it was tested with that.
        ("2.15.0+cu132", "2.15.0", "13.2", BACK, index("cu130")),
        # The build for exactly this CUDA is on PyTorch's index, whatever place PyTorch itself came from.
        ("2.11.0+cu130", "2.11.0", "13.0", index("cu130"), BACK),
        ("2.12.0+cu130", "2.12.0+cu130", "13.0", index("cu130"), BACK),
    ],
)
def test_the_newest_release_is_not_installed_again(live: str, installed: str, cuda: str, first: str, then: str) -> None:
    lines = typed(beside(live, installed, cuda, NEWEST))
    assert lines[0] == first
    assert then in lines
    assert REMOVED in lines
    assert not any(line.endswith(" xformers") and " install " in line for line in lines)


def test_one_that_pins_its_pytorch_gets_that() -> None:
    lines = typed(beside("2.15.0+cu132", "2.15.0", "13.2", PINNED, package("torchvision", "0.29.2")))
    assert lines[0] == f"{PIP} install torch==2.9.1 torchvision==0.24.1 xformers==0.0.33.post2"
    assert index("cu130") in lines
    assert not any("--only-binary" in line or "--upgrade" in line for line in lines)  # PyPI's is for CUDA 12


def test_what_the_other_packages_need_stays() -> None:
    newer = package("vllm", "0.30.0", requires=("torch==2.15.0", "xformers>=0.0.35"))
    lines = typed(beside("2.15.0+cu132", "2.15.0", "13.2", NEWEST, newer))
    assert lines[0] == index("cu130")
    assert BACK not in lines
    assert REMOVED not in lines  # it is required
    assert all("torch==2.9.1" not in line for line in typed(beside("2.15.0+cu132", "2.15.0", "13.2", PINNED, newer)))
    vision = package("torchvision", "0.29.2", requires=("torch==2.15.0",))
    assert typed(beside("2.15.0+cu132", "2.15.0", "13.2", NEWEST, vision))[0] == f"{BACK} 'torchvision==0.25.*'"


def test_no_older_pytorch_that_does_not_run_here() -> None:
    assert typed(beside("2.15.0+cu132", "2.15.0", "13.2", NEWEST, facts=machine("11.8")))[0] == index("cu130")
    newer = change(beside("2.15.0+cu132", "2.15.0", "13.2", NEWEST), "pythons.0.version", "3.15.0")
    assert typed(newer)[0] == index("cu130")


def test_a_pytorch_of_its_own_cuda_but_older_than_its_abi_is_served_by_a_release_that_pins_it() -> None:
    mine = {**PINNED, "version": "0.0.32", "requires": ("torch==2.8.0",), "built_with": "2.8.0+cu128"}
    lines = typed(beside("2.9.1+cu130", "2.9.1+cu130", "13.0", mine))
    wheels = "--index-url https://download.pytorch.org/whl/cu130 --only-binary xformers xformers torch==2.9.1"
    assert lines[0] == f"{PIP} install {wheels}"


def test_a_release_before_the_stable_abi_is_upgraded_where_pypi_has_the_build() -> None:
    mine = {**PINNED, "requires": ("torch>=2.9",)}
    facts = beside("2.10.0+cu128", "2.10.0", "12.8", mine)
    lines = commands(built_for_another_torch, change(facts, "pythons.0.extensions", ())).splitlines()
    assert f"{PIP} install --force-reinstall --no-deps 'xformers>=0.0.34'" in lines


def test_rocm_has_a_build_for_one_release() -> None:
    ours = torch("2.11.0+rocm7.1", variant="rocm", hip="7.1", cuda=None)
    facts = environment(ours, packages=(package("xformers", **NEWEST),), facts=amd_host())
    assert index("rocm7.1") in commands(built_for_another_torch, facts)
    later = torch("2.14.0+rocm7.2", variant="rocm", hip="7.2", cuda=None)
    facts = environment(later, packages=(package("xformers", **NEWEST),), facts=amd_host())
    assert "index-url" not in commands(built_for_another_torch, facts)
