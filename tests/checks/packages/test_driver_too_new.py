"""Releases of packages that do not work with the driver of a newer CUDA."""

from typing import Any

import pytest

from gpudoctor.checks.packages.driver_too_new import driver_too_new
from gpudoctor.facts import CondaPackage, Facts
from gpudoctor.maybe import Unknown
from tests.builders import change, plain_host
from tests.checks.environments import commands, environment, one, package, severity, torch

PIP = "/opt/env/bin/python -m pip"
NUMBA = package("numba", "0.61.2")


def having(*found: Any, cuda: object = "13.0", framework: Any = None) -> Facts:
    facts = environment(*([framework] if framework else []), packages=found)
    return change(change(facts, "nvidia.cuda.version", cuda), "nvidia.nvml.cuda_version", cuda)


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        (having(NUMBA), "problem"),
        (having(NUMBA, cuda="12.9"), "pass"),
        (having(NUMBA, cuda=Unknown("closed")), "unknown"),
        (having(package("numba", "0.63.1")), "pass"),
        (having(package("numba", "0.63.0rc1")), "pass"),
        (having(NUMBA, package("numba-cuda", "0.20.1")), "pass"),  # takes its place
        (change(having(NUMBA), "host.environment", {"NUMBA_CUDA_USE_NVIDIA_BINDING": "1"}), "pass"),
        (environment(packages=(NUMBA,), facts=plain_host()), "pass"),
        (having(package("cuda-bindings", "12.9.0")), "problem"),
        (having(package("cuda-bindings", "12.9.0"), cuda="12.9"), "pass"),
        (having(package("cuda-bindings", "12.9.1")), "pass"),
        (having(package("cuda-bindings", "12.6.2")), "pass"),  # of which it is not known
        (having(NUMBA, package("numba-cuda", "0.4.0")), "problem"),
        (having(NUMBA, package("numba-cuda", "0.8.1")), "pass"),
        (change(having(), "pythons.0.packages", Unknown("closed")), "unknown"),
    ],
)
def test_releases_and_drivers(facts: Facts, outcome: str) -> None:
    assert one(driver_too_new, facts)[0] == outcome


def test_numba_crashes_with_cuda_13() -> None:
    facts = having(NUMBA)
    assert one(driver_too_new, facts)[1].startswith(
        "numba 0.61.2 crashes with a segmentation fault as soon as a program uses numba.cuda: the driver "
    )
    assert "(CUDA 13.0) is newer than it works with." in one(driver_too_new, facts)[1]
    typed = commands(driver_too_new, facts)
    assert f"{PIP} install 'numba>=0.63'" in typed
    assert f"{PIP} install 'numba-cuda[cu12]'" in typed.splitlines()[1], "nothing else brings a compiler"
    conda = (CondaPackage(name="numba", version="0.61.2", build="py312_0", channel="conda-forge"),)
    assert "conda install" in commands(driver_too_new, change(facts, "pythons.0.conda", conda))


def test_what_pins_numba_cuda_gets_the_variable() -> None:
    cudf = package("cudf-cu12", "25.4.0", requires=("numba-cuda<0.3.0a0,>=0.2.0", "cuda-python<13.0a0,>=12.6.2"))
    old = (NUMBA, package("numba-cuda", "0.2.0"), package("cuda-bindings", "12.6.2"))
    facts = having(*old, cudf)
    assert one(driver_too_new, facts)[1].startswith("numba-cuda 0.2.0 crashes with a segmentation fault when")
    assert severity(driver_too_new, facts) == "warn"
    assert commands(driver_too_new, facts).splitlines()[1].strip() == "export NUMBA_CUDA_USE_NVIDIA_BINDING=1"
    assert f"{PIP} install 'numba-cuda>=0.8.1'" in commands(driver_too_new, having(*old)).splitlines()[1]


def test_the_bindings_stay_of_their_major() -> None:
    facts = having(package("cuda-bindings", "12.9.0"), package("numba-cuda", "0.16.0"))
    assert f"{PIP} install 'cuda-bindings>=12.9.1,<13'" in commands(driver_too_new, facts)
    assert severity(driver_too_new, facts) == "warn"


@pytest.mark.parametrize(
    ("facts", "level"),
    [
        (having(NUMBA), "warn"),
        (having(NUMBA, package("librosa", "0.11.0")), "advice"),  # which computes with it on the CPU
        (having(NUMBA, framework=torch("2.8.0")), "advice"),
        (having(package("cuda-bindings", "12.9.0")), "advice"),
    ],
)
def test_advice_where_the_cpu_may_be_meant(facts: Facts, level: str) -> None:
    assert severity(driver_too_new, facts) == level
