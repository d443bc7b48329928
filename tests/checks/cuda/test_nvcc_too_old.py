"""An nvcc that is older than what a package compiles with it."""

from typing import Any

import msgspec
import pytest

from gpudoctor.checks.cuda.nvcc_too_old import nvcc_too_old
from gpudoctor.facts import CondaPackage, Facts
from gpudoctor.maybe import Unknown, known_or
from tests.builders import change
from tests.checks import environments
from tests.checks.cuda.test_cuda import toolkit
from tests.checks.environments import NO_TOOLKIT, commands, environment, machine, one, package, severity, torch


def host(nvcc: Any = "12.4", release: str = "0.2.13", *others: str, cuda: str = "12.6", **more: Any) -> Facts:
    """A machine with a toolkit, and FlashInfer next to a PyTorch for another CUDA release."""
    packages = (package("flashinfer-python", release), *(package(name, release) for name in others))
    facts = machine(toolkits=toolkit(nvcc) if nvcc else NO_TOOLKIT)
    return environment(torch("2.7.1", cuda=cuda), packages=packages, facts=facts, **more)


SAYS = (
    "flashinfer-python 0.2.13 passes nvcc an option of CUDA 12.8, -static-global-template-stub. The nvcc here is {} "
    "(/usr/local/cuda-{}, from CUDA_HOME): it compiles none of its kernels."
)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (host(), ("problem", SAYS.format("12.4", "12.4"))),
        (host("11.8"), ("problem", SAYS.format("11.8", "11.8"))),
        (host("12.8"), ("pass", "")),
        (host("13.0"), ("pass", "")),
        (host(release="0.2.12"), ("pass", "")),
        (host(release="0.2.14"), ("pass", "")),
        (host(release="0.2.14.post1"), ("pass", "")),
        (host(release="0.2.13+cu126torch2.7"), ("pass", "")),  # with its kernels
        (host("12.4", "0.2.13", "flashinfer-jit-cache"), ("pass", "")),
        (host(None), ("pass", "")),  # cuda.nvcc-missing
        (host(Unknown("hung")), ("unknown", "hung")),
        (change(host(), "host.environment", {"PYTORCH_NVCC": "/opt/nvcc"}), ("pass", "")),
        (change(host(), "pythons.0.frameworks.0.variant", "cpu"), ("pass", "")),
    ],
)
def test_nvcc_too_old(facts: Facts, verdict: tuple[str, str]) -> None:
    assert one(nvcc_too_old, facts) == verdict


def test_it_is_a_warning() -> None:
    assert severity(nvcc_too_old, host()) == "warn"  # nothing may ask for its kernels


def test_the_next_release_comes_before_another_toolkit() -> None:
    said = commands(nvcc_too_old, host())
    assert said.index("'flashinfer-python~=0.2.14'") < said.index("apt-get install cuda-toolkit-12-8")
    assert "cuda-toolkit-12-9" in commands(nvcc_too_old, host(cuda="12.9"))
    assert "cuda-toolkit" not in commands(nvcc_too_old, host(cuda="11.8"))  # PyTorch's builds refuse another major
    conda = (CondaPackage(name="python", version="3.11", build="h1"),)
    assert "cuda-toolkit=12.8" in commands(nvcc_too_old, host(conda=conda))


def test_an_installed_toolkit_of_the_same_major_is_used() -> None:
    facts, other = host(), toolkit("12.9")
    here = msgspec.structs.replace(
        facts.toolkits,
        nvccs=(*known_or(facts.toolkits.nvccs, ()), *known_or(other.nvccs, ())),
        installed=(*known_or(facts.toolkits.installed, ()), *known_or(other.installed, ())),
    )
    said = commands(nvcc_too_old, change(facts, "toolkits", here))
    assert "export CUDA_HOME=/usr/local/cuda-12.9" in said
    assert "cuda-toolkit" not in said


BLACKWELL = "FlashInfer requires GPUs with sm75 or higher; No supported CUDA architectures found"
DEEP_GEMM = "NVCC version should be >= 12.3"


@pytest.mark.parametrize(
    ("name", "release", "nvcc", "capability", "says"),
    [
        ("flashinfer-python", "0.6.12", "12.8", "12.0", BLACKWELL),
        ("flashinfer-python", "0.6.12", "12.8", "9.0", ""),
        ("flashinfer-python", "0.6.12", "12.8", "12.1", ""),  # cuda.nvcc-without-gpu
        ("flashinfer-python", "0.6.12", "12.9", "12.0", ""),
        ("flashinfer-python", "0.6.12", "13.0", "12.0", ""),
        ("flashinfer-python", "0.6.6", "12.8", "12.0", ""),
        ("flashinfer-python", "0.7.0", "12.8", "12.0", BLACKWELL),
        ("flashinfer-python", "0.7.1", "12.8", "12.0", ""),  # takes 12.8 again
        ("deep-gemm", "2.1.1", "12.1", "9.0", DEEP_GEMM),
        ("deep-gemm", "2.1.1", "12.4", "9.0", ""),
        ("sgl-kernel", "0.3.17", "12.1", "9.0", DEEP_GEMM),
        ("sgl-kernel", "0.3.17", "12.1", "8.9", ""),  # SGLang does not import it there
        ("flashinfer-python", "0.6.12", "12.8", Unknown("NVML: Unknown Error"), "unknown"),
    ],
)
def test_what_is_refused_for_some_gpus(name: str, release: str, nvcc: str, capability: Any, says: str) -> None:
    facts = environment(torch("2.9.1"), packages=(package(name, release),), facts=machine(toolkits=toolkit(nvcc)))
    outcome, message = one(nvcc_too_old, change(facts, "gpus.0.capability", capability))
    assert outcome == ("unknown" if says == "unknown" else "problem" if says else "pass")
    assert says in message or says == "unknown"


def test_a_variable_chooses_the_target() -> None:
    facts = environment(
        torch("2.13.0", cuda="13.0"),
        packages=(package("flashinfer-python", "0.6.12"),),
        facts=machine(toolkits=toolkit("12.8"), card=environments.BLACKWELL),
    )
    assert "cuda-toolkit-13-0" in commands(nvcc_too_old, facts)  # of PyTorch's own CUDA, and not the older one
    assert "'flashinfer-python~=0.7.1'" in commands(nvcc_too_old, facts)
    pins = package("vllm", "0.24.0", requires=("flashinfer-python==0.6.12",))
    there = facts.pythons[0].packages
    assert not isinstance(there, Unknown)
    pinned = change(facts, "pythons.0.packages", (*there, pins))
    assert "flashinfer-python" not in commands(nvcc_too_old, pinned)
    named = change(facts, "host.environment", {"FLASHINFER_CUDA_ARCH_LIST": "12.0a"})
    assert one(nvcc_too_old, named) == ("pass", "")


def test_no_newer_release_is_promised_where_none_is_known() -> None:
    facts = environment(
        torch("2.9.1", cuda="12.8"),
        packages=(package("deep-gemm", "2.1.1"),),
        facts=change(machine(toolkits=toolkit("12.1")), "gpus.0.capability", "9.0"),
    )
    assert "deep-gemm" not in commands(nvcc_too_old, facts)
    assert "cuda-toolkit-12-8" in commands(nvcc_too_old, facts)
