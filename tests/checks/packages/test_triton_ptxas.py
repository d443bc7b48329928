"""Triton's ptxas against the GPU."""

from typing import Any

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.cuda.triton_ptxas_too_old import triton_ptxas_too_old
from gpudoctor.facts import Facts, Nvcc, Package
from gpudoctor.facts.toolkit import NamedPath
from gpudoctor.maybe import Unknown
from tests.builders import ask, change
from tests.checks.healthy_nvidia import spark

WHY = Unknown("nobody looked")


def with_triton(version: str, capability: Any = "12.1", **env: str) -> Facts:
    """A DGX Spark whose environment holds a PyTorch and this Triton."""
    facts = spark()
    packages = facts.pythons[0].packages
    assert isinstance(packages, tuple)
    facts = change(facts, "pythons.0.packages", (*packages, Package(name="triton", version=version, directory="/x")))
    return change(change(facts, "gpus.0.capability", capability), "host.environment", env)


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        (spark(), "pass"),
        (with_triton("3.5.0"), "problem"),
        (with_triton("3.5.1+git7416ffcb"), "problem"),
        (with_triton("3.6.0"), "pass"),
        (with_triton("3.6.0", "11.0"), "problem"),  # Jetson Thor
        (with_triton("3.7.1", "11.0"), "pass"),
        (with_triton("3.5.0", "12.0"), "pass"),
        (with_triton("3.5.0", "8.9"), "pass"),
        (with_triton("3.5.0", TRITON_PTXAS_PATH="/usr/local/cuda/bin/ptxas"), "pass"),
        (with_triton("0.4"), "pass"),  # older than the table
        (with_triton("main"), "pass"),
        (with_triton("3.5.0", WHY), "unknown"),
        (change(with_triton("3.5.0"), "pythons.0.frameworks", ()), "pass"),
    ],
)
def test_triton_ptxas_too_old(facts: Facts, outcome: str) -> None:
    assert [found for found, _ in ask(triton_ptxas_too_old, facts)] == [outcome]


def test_it_names_the_ptxas_that_is_here() -> None:
    nvcc = Nvcc(path="/usr/local/cuda/bin/nvcc", real="/usr/local/cuda-13.0/bin/nvcc", version="13.0")
    old = Nvcc(path="/usr/bin/nvcc", real="/usr/bin/nvcc", version="12.0")
    (verdict,) = run(triton_ptxas_too_old, change(with_triton("3.5.0"), "toolkits.nvccs", (old, nvcc)))
    assert verdict.message == (
        "Triton 3.5.0 includes ptxas from CUDA 12.8, which does not support sm_121 (GPU 0 (NVIDIA GB10, Blackwell, "
        "compute capability 12.1, sm_121)); CUDA 12.9 is the first that does."
    )
    assert verdict.fixes[0].commands == ("export TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas",)
    (verdict,) = run(triton_ptxas_too_old, change(with_triton("3.5.0"), "toolkits.nvccs", WHY))
    assert verdict.fixes[0].action == "reinstall-package"


PTXAS = "/usr/local/cuda-12.4/bin/ptxas"


def selecting(triton: str, capability: str, variable: str = "TRITON_PTXAS_PATH", real: str = PTXAS) -> Facts:
    """The same with a toolkit 12.4, whose ptxas a variable selects."""
    facts = with_triton(triton, capability, **{variable: PTXAS})
    named = NamedPath(variable=variable, path=PTXAS, real=real, exists=True)
    facts = change(facts, "toolkits.named_paths", (named,))
    return change(facts, "toolkits.installed", (("/usr/local/cuda-12.4", "12.4"), ("/usr/local/cuda-13.0", "13.0")))


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        (selecting("3.5.1", "12.0"), "problem"),
        (selecting("3.5.1", "8.9"), "pass"),
        (selecting("3.5.1", "12.0", real="/usr/local/cuda-13.0/bin/ptxas"), "pass"),
        (selecting("3.5.1", "12.0", real="/opt/ptxas"), "pass"),
        (selecting("3.3.0", "12.0"), "pass"),  # which has another variable for it
        (selecting("3.3.0", "12.0", "TRITON_PTXAS_BLACKWELL_PATH"), "problem"),
        (selecting("3.6.0", "12.0"), "pass"),
    ],
)
def test_a_variable_that_selects_an_older_ptxas(facts: Facts, outcome: str) -> None:
    (verdict,) = run(triton_ptxas_too_old, facts)
    assert verdict.outcome == outcome
    if outcome == "problem":
        assert verdict.message.startswith(f"TRITON_PTXAS_{'BLACKWELL_' * ('BLACKWELL' in verdict.message)}PATH selects")
        assert [c for c in verdict.fixes[0].commands if c.startswith("unset TRITON_PTXAS")]
