"""A package that compiles CUDA code at run time, without nvcc."""

from typing import Any

import pytest

from gpudoctor.checks.cuda.nvcc_missing import nvcc_missing
from gpudoctor.facts import Facts, Package, PackageImport, Toolkits
from gpudoctor.maybe import Unknown
from tests.builders import change, host
from tests.checks.cuda.test_cuda import toolkit
from tests.checks.environments import NO_TOOLKIT, commands, environment, machine, one, package, severity, torch
from tests.checks.nvidia_machines import having


def compiling(*names: str, toolkits: Toolkits = NO_TOOLKIT, **changes: Any) -> Facts:
    """PyTorch for CUDA 12.4 with further packages."""
    packages = tuple(package(name, "0.15.4") for name in names)
    return environment(torch("2.5.1", cuda="12.4"), packages=packages, facts=machine(toolkits=toolkits), **changes)


def test_nvcc_missing() -> None:
    facts = compiling("deepspeed")
    expected = (
        "deepspeed 0.15.4 is installed and compiles CUDA code, but the CUDA compiler is missing: there is no nvcc, and "
        "CUDA_HOME is not set."
    )
    assert one(nvcc_missing, facts) == ("problem", expected)
    assert severity(nvcc_missing, facts) == "warn"
    assert "cuda-toolkit-12-4" in commands(nvcc_missing, facts)
    inside = change(facts, "host", host(container="docker"))
    assert "-devel" in commands(nvcc_missing, inside)
    assert one(nvcc_missing, compiling("deepspeed", toolkits=toolkit("12.4"))) == ("pass", "")
    assert one(nvcc_missing, compiling("transformers")) == ("pass", "")
    cpu = environment(torch(cuda=None, variant="cpu"), packages=(package("deepspeed", "0.15.4"),))
    assert one(nvcc_missing, cpu) == ("pass", "")
    assert one(nvcc_missing, change(facts, "toolkits.home.nvcc", Unknown("hung"))) == ("unknown", "hung")


@pytest.mark.parametrize(
    ("name", "version", "capability", "outcome"),
    [
        ("sgl-kernel", "0.3.17", "10.0", "problem"),
        ("sgl-kernel", "0.3.17", "9.0", "problem"),
        ("sgl-kernel", "0.3.17", "12.0", "pass"),  # its DeepGEMM has no kernels for it
        ("sgl-kernel", "0.3.17", "8.9", "pass"),  # SGLang imports deep_gemm for Hopper and Blackwell alone
        ("sgl-kernel", "0.0.5", "9.0", "pass"),  # without deep_gemm
        ("deep-gemm", "2.1.1", "9.0", "problem"),
        ("sgl-kernel", "0.3.17", Unknown("NVML: Unknown Error"), "unknown"),
        ("sglang", "0.5.9", "8.9", "problem"),  # the rotary embedding of every model
        ("sglang", "0.5.8.post1", "8.9", "pass"),
        ("gsplat", "1.5.3", "8.9", "problem"),
        ("gsplat", "1.5.3+pt24cu124", "8.9", "pass"),  # compiled already
    ],
)
def test_packages_that_compile_for_some_gpus(name: str, version: str, capability: object, outcome: str) -> None:
    packages = (package(name, version),)
    facts = environment(torch("2.9.1", cuda="12.8"), packages=packages, facts=machine(toolkits=NO_TOOLKIT))
    facts = change(facts, "gpus.0.capability", capability)
    assert one(nvcc_missing, facts)[0] == outcome
    if outcome == "problem":
        assert severity(nvcc_missing, facts) == "warn"
        assert "cuda-toolkit-12-8" in commands(nvcc_missing, facts)


def test_kernels_that_are_mostly_ready_made_are_advice() -> None:
    facts = compiling("flashinfer-python")
    assert severity(nvcc_missing, facts) == "advice"
    assert "flashinfer-jit-cache" not in commands(nvcc_missing, facts)  # there is none for CUDA 12.4
    newer = environment(
        torch("2.8.0", cuda="12.9"),
        packages=(package("flashinfer-python", "0.6.1"),),
        facts=machine(toolkits=NO_TOOLKIT),
    )
    wheels = "install --index-url https://flashinfer.ai/whl/cu129 --no-deps flashinfer-jit-cache==0.6.1"
    assert wheels in commands(nvcc_missing, newer)
    assert one(nvcc_missing, compiling("flashinfer-python", "flashinfer-jit-cache")) == ("pass", "")


def with_vllm(version: str, *others: Package, **changes: Any) -> Facts:
    packages = (package("vllm", version), package("flashinfer-python", "0.6.8"), *others)
    facts = environment(torch("2.11.0", cuda="13.0"), packages=packages, facts=machine(toolkits=NO_TOOLKIT))
    return having(facts, **({"gpus__0__capability": "8.9"} | changes))


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (with_vllm("0.21.0"), "warn"),
        (with_vllm("0.33.0"), "warn"),
        (with_vllm("0.11.0"), "warn"),
        (with_vllm("0.11.1"), "advice"),  # it sampled without FlashInfer
        (with_vllm("0.20.2"), "advice"),
        (with_vllm("0.21.0", gpus__0__capability="7.0"), "advice"),  # FlashInfer serves 7.5 and newer
        (with_vllm("0.21.0", host__environment={"VLLM_USE_FLASHINFER_SAMPLER": "0"}), "advice"),
        (with_vllm("0.21.0", host__environment={"VLLM_USE_FLASHINFER_SAMPLER": "1"}), "warn"),
    ],
)
def test_vllm_has_flashinfer_compile_at_its_start(facts: Facts, expected: str) -> None:
    assert severity(nvcc_missing, facts) == expected


def test_what_helps_vllm_without_nvcc() -> None:
    facts = with_vllm("0.21.0")
    expected = (
        "flashinfer-python 0.6.8 is installed and compiles CUDA code, for vllm 0.21.0 at its start, but the CUDA "
        "compiler is missing: there is no nvcc, and CUDA_HOME is not set."
    )
    assert one(nvcc_missing, facts) == ("problem", expected)
    said = commands(nvcc_missing, facts)
    kernels = said.index("install --index-url https://flashinfer.ai/whl/cu130 --no-deps flashinfer-jit-cache==0.6.8")
    assert kernels < said.index("export VLLM_USE_FLASHINFER_SAMPLER=0") < said.index("cuda-toolkit-13-0")
    ready = with_vllm("0.21.0", package("flashinfer-jit-cache", "0.6.8"))
    assert one(nvcc_missing, ready) == ("pass", "")
    with_sglang = with_vllm("0.21.0", package("sglang", "0.5.12"))
    said = commands(nvcc_missing, with_sglang)
    assert "flashinfer-jit-cache" not in said  # SGLang needs nvcc all the same
    assert "flashinfer-python 0.6.8 and sglang 0.5.12 are installed and compile" in one(nvcc_missing, with_sglang)[1]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        ("RuntimeError: flashinfer-cubin version (0.6.13) does not match flashinfer version (0.6.14)", "pass"),
        ("RuntimeError: Could not find nvcc and default cuda_home='/usr/local/cuda' doesn't exist", "problem"),
        (None, "problem"),
    ],
)
def test_what_fails_before_it_compiles_misses_no_compiler(error: str | None, outcome: str) -> None:
    tried = PackageImport(package="flashinfer-python", version="0.6.8", module="flashinfer", error=error)
    facts = change(with_vllm("0.21.0"), "pythons.0.imports", (tried,))
    assert one(nvcc_missing, facts)[0] == outcome
