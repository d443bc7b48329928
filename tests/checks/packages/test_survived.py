"""Packages whose import goes on without their compiled part."""

import pytest

from gpudoctor.checks.packages.import_fails import import_fails
from gpudoctor.checks.packages.program_missing import program_missing
from gpudoctor.facts import Facts, PackageImport
from tests.builders import change
from tests.checks.amd_machines import amd_host
from tests.checks.environments import commands, environment, machine, one, package, severity, torch

BNB = "bitsandbytes library load error: /x/libbitsandbytes_cuda126.so: CUDA error: named symbol not found\nTraceback"
XFORMERS = "WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:\n  PyTorch 2.5.1+cu121"
VLLM = "WARNING 11-02 Failed to import from vllm._C with ImportError('libcudart.so.13: cannot open shared object file')"


def having(name: str, stderr: str, l4t: str | None = None, python: str = "3.10.12", **card: str) -> Facts:
    """A package that was imported, and what it wrote."""
    facts = environment(torch("2.8.0"), packages=(package(name, "0.49.1"),), facts=machine(card=card), version=python)
    imported = PackageImport(package=name, version="0.49.1", module=name, stderr=stderr)
    return change(change(facts, "pythons.0.imports", (imported,)), "host.l4t", l4t)


def test_the_variable_that_chose_the_library_is_unset() -> None:
    said = f"BNB_CUDA_VERSION=118 environment variable detected; loading libbitsandbytes_cuda118.so\n{BNB}"
    facts = change(having("bitsandbytes", said), "host.environment", {"BNB_CUDA_VERSION": "118"})
    assert commands(import_fails, facts).splitlines()[1:] == ["unset BNB_CUDA_VERSION"]
    unset = change(facts, "host.environment", {})
    assert "unset" not in commands(import_fails, unset)
    quiet = change(having("bitsandbytes", BNB), "host.environment", {"BNB_CUDA_VERSION": "118"})
    assert "unset" not in commands(import_fails, quiet)


@pytest.mark.parametrize(
    ("name", "stderr", "words"),
    [
        ("bitsandbytes", BNB, "does not load: /x/libbitsandbytes_cuda126.so: CUDA error: named symbol not found."),
        ("xformers", XFORMERS, "xFormers can't load C++/CUDA extensions"),
        ("vllm", VLLM, "libcudart.so.13: cannot open shared object file"),
    ],
)
def test_an_import_that_goes_on_without_its_library(name: str, stderr: str, words: str) -> None:
    outcome, message = one(import_fails, having(name, stderr))
    assert (outcome, words in message) == ("problem", True), message
    assert severity(import_fails, having(name, stderr)) == "warn"
    assert f"--upgrade {name}" in commands(import_fails, having(name, stderr))


@pytest.mark.parametrize(
    ("name", "stderr"),
    [
        ("bitsandbytes", ""),
        ("bitsandbytes", "Failed to load CPU gemm_4bit_forward from kernels-community: No module named 'kernels'"),
        ("vllm", "INFO 11-02 Automatically detected platform cuda."),
        ("transformers", BNB),  # another package's message is that one's matter
    ],
)
def test_what_is_no_loss(name: str, stderr: str) -> None:
    assert one(import_fails, having(name, stderr)) == ("pass", "")


def test_without_a_gpu_nobody_misses_it() -> None:
    facts = change(change(having("bitsandbytes", BNB), "gpus", ()), "pci", ())
    assert one(import_fails, facts) == ("pass", "")


def test_a_jetson_builds_its_own() -> None:
    """PyPI has no source distribution of bitsandbytes; the Jetson AI Lab has wheels for one Python."""
    text = commands(import_fails, having("bitsandbytes", BNB, "36.4", capability="8.7"))
    assert "--index-url https://pypi.jetson-ai-lab.io/jp6/cu126 --no-deps bitsandbytes" in text
    assert "git clone --branch 0.49.1 https://github.com/bitsandbytes-foundation/bitsandbytes.git" in text
    assert "-DCOMPUTE_CAPABILITY=87" in text
    other = commands(import_fails, having("bitsandbytes", BNB, "36.4", python="3.12.3", capability="8.7"))
    assert "jetson-ai-lab" not in other
    assert "--upgrade" not in other  # PyPI's next wheel is for servers, too
    assert "--no-binary xformers xformers==0.49.1" in commands(import_fails, having("xformers", XFORMERS, "36.4"))


NO_ROCMINFO = "Could not detect ROCm GPU architecture: [Errno 2] No such file or directory: 'rocminfo'"


def on_amd(stderr: str, rocm: str | None = None) -> Facts:
    """The same on a machine with an AMD GPU."""
    facts = change(amd_host(), "pythons", having("some-kernels", stderr).pythons)
    return change(facts, "amd.rocm_path", rocm)


@pytest.mark.parametrize(
    ("stderr", "outcome"),
    [
        (NO_ROCMINFO, "problem"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'rocm_agent_enumerator'", "problem"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'model.safetensors'", "pass"),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/etc/rocminfo'", "pass"),  # no program on PATH
        ("", "pass"),
    ],
)
def test_a_program_that_a_package_asks_about_the_gpu(stderr: str, outcome: str) -> None:
    assert one(program_missing, on_amd(stderr))[0] == outcome
    assert one(program_missing, having("some-kernels", stderr))[0] == "pass"  # NVIDIA's GPUs need no rocminfo


def test_what_brings_the_program() -> None:
    assert "install rocminfo" in commands(program_missing, on_amd(NO_ROCMINFO))
    assert "/opt/rocm/bin" in commands(program_missing, on_amd(NO_ROCMINFO, "/opt/rocm"))
    assert one(program_missing, on_amd(NO_ROCMINFO))[1] == (
        "some-kernels 0.49.1 starts rocminfo when it is imported, which is not on PATH: it does not know the GPU's "
        "architecture and wave size (warp size), and takes defaults that may be wrong for it."
    )
