"""Variables that an installed release refuses."""

from typing import Any

import pytest

from gpudoctor.checks.environment.variable_refused import variable_refused
from gpudoctor.facts import Facts, Package
from gpudoctor.maybe import Unknown
from gpudoctor.pipeline import check
from tests.builders import change
from tests.checks.amd_machines import amd_host
from tests.checks.environments import A100, commands, environment, machine, one, package, torch

ADA = {"name": "NVIDIA L40S", "generation": "Ada", "capability": "8.9", "chip": "AD102"}


def radeon(ray: str, **variables: str) -> Facts:
    return change(environment(torch("2.7.0"), packages=(package("ray", ray),), facts=amd_host()), *_set(variables))


def on(name: str, version: str, card: dict[str, Any] | None = None, **variables: str) -> Facts:
    facts = environment(torch("2.7.0"), packages=(package(name, version),), facts=machine(card=card))
    return change(facts, *_set(variables))


def hub(version: str, value: str = "1", *more: Package) -> Facts:
    """An environment with huggingface-hub, where its faster downloads are asked for."""
    facts = environment(torch("2.7.0"), packages=(package("huggingface-hub", version), *more), facts=machine())
    return change(facts, *_set({"HF_HUB_ENABLE_HF_TRANSFER": value}))


def socks(value: str, *more: Package) -> Facts:
    """An environment with httpx, whose connections are to go through a proxy."""
    facts = environment(torch("2.7.0"), packages=(package("httpx", "0.28.1"), *more), facts=machine())
    return change(facts, *_set({"ALL_PROXY": value}))


def _set(variables: dict[str, str]) -> tuple[str, dict[str, str]]:
    return "host.environment", variables


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (
            radeon("2.46.0", ROCR_VISIBLE_DEVICES="0", HIP_VISIBLE_DEVICES="0"),
            "ray 2.46.0 refuses ROCR_VISIBLE_DEVICES=0",
        ),
        (radeon("2.51.1", ROCR_VISIBLE_DEVICES="0"), "Please use HIP_VISIBLE_DEVICES"),
        (radeon("2.45.0", CUDA_VISIBLE_DEVICES="1"), "AssertionError"),
        (
            radeon("2.51.1", CUDA_VISIBLE_DEVICES="1", HIP_VISIBLE_DEVICES="0"),
            "and HIP_VISIBLE_DEVICES=0: `import ray`",
        ),
        (on("vllm", "0.9.2", ADA, VLLM_FLASH_ATTN_VERSION="3"), "on GPU 0 (NVIDIA L40S) (compute capability 8.9)"),
        (
            on("vllm", "0.9.2", CUDA_VISIBLE_DEVICES="GPU-441f29f8"),
            "vllm 0.9.2 refuses CUDA_VISIBLE_DEVICES=GPU-441f29f8",
        ),
        (on("vllm", "0.20.1", CUDA_VISIBLE_DEVICES="MIG-377e0049-554c"), "invalid literal for int()"),
        (on("deepspeed", "0.16.0", DS_ACCELERATOR="rocm"), "deepspeed 0.16.0 refuses DS_ACCELERATOR=rocm"),
        (on("jaxlib", "0.6.0", XLA_PYTHON_CLIENT_ALLOCATOR="async"), "must be default, platform"),
        (socks("socks5h://***"), "the 'socksio' package is not installed"),
        (socks("socks://***", package("socksio", "1.0.0")), "Unknown scheme for proxy URL"),
        (hub("0.36.2", "True"), "huggingface-hub 0.36.2 refuses HF_HUB_ENABLE_HF_TRANSFER=True"),
    ],
)
def test_what_a_release_refuses(facts: Facts, words: str) -> None:
    outcome, message = one(variable_refused, facts)
    assert (outcome, words in message) == ("problem", True), message
    assert "unset " in commands(variable_refused, facts)


@pytest.mark.parametrize(
    "facts",
    [
        radeon("2.44.1", ROCR_VISIBLE_DEVICES="0"),  # it reads that one
        radeon("2.51.1", ROCR_VISIBLE_DEVICES="0", HIP_VISIBLE_DEVICES="0"),
        radeon("2.51.1", CUDA_VISIBLE_DEVICES="0"),
        radeon("2.51.1", CUDA_VISIBLE_DEVICES="0", HIP_VISIBLE_DEVICES="0"),
        radeon("2.46.0", HIP_VISIBLE_DEVICES="0"),
        on("ray", "2.46.0", ROCR_VISIBLE_DEVICES="0"),  # Ray asks only about the GPUs that are there
        on("vllm", "0.9.2", A100, VLLM_FLASH_ATTN_VERSION="3"),
        on("vllm", "0.9.2", ADA, VLLM_FLASH_ATTN_VERSION="2"),
        on("vllm", "0.16.0", ADA, VLLM_FLASH_ATTN_VERSION="3"),  # it reads the variable no more
        on("vllm", "0.9.2", CUDA_VISIBLE_DEVICES="0,1"),
        on("vllm", "0.24.0", CUDA_VISIBLE_DEVICES="GPU-441f29f8"),
        on("deepspeed", "0.16.0", DS_ACCELERATOR="cuda"),
        on("jaxlib", "0.6.0", XLA_PYTHON_CLIENT_ALLOCATOR="Platform"),
        hub("0.36.2", "0"),
        socks("http://***"),
        socks("socks5://***", package("socksio", "1.0.0")),
        hub("0.36.2", "1", package("hf-transfer", "0.1.9")),
        hub("1.2.0"),  # it reads the variable no more
    ],
)
def test_what_is_accepted(facts: Facts) -> None:
    assert one(variable_refused, facts) == ("pass", "")


def test_uuids_become_indices_where_they_are_of_gpus_here() -> None:
    facts = change(on("vllm", "0.9.2", CUDA_VISIBLE_DEVICES="GPU-441f"), "gpus.0.uuid", "GPU-441f29f8-b53a")
    text = commands(variable_refused, facts)
    assert "export CUDA_DEVICE_ORDER=PCI_BUS_ID\nexport CUDA_VISIBLE_DEVICES=0" in text
    mig = on("vllm", "0.9.2", CUDA_VISIBLE_DEVICES="MIG-377e0049-554c-540b-93c6-d0976f8426cb")
    assert "export" not in commands(variable_refused, mig)


def test_a_uuid_that_no_gpu_has_is_one_finding() -> None:
    facts = on("vllm", "0.9.2", CUDA_VISIBLE_DEVICES="GPU-441f29f8")
    facts = change(change(facts, "nvidia.cuda.code", 100), "nvidia.cuda.unmasked_code", 0)
    roots = {found.check: found for found in check(facts=change(facts, "nvidia.cuda.devices", ())).findings}
    assert "environment.variable-refused" not in roots
    followers = {one.check for one in roots["visibility.cuda-unknown-uuid"].consequences}
    assert "environment.variable-refused" in followers


def test_an_unknown_gpu_is_no_finding() -> None:
    facts = on("vllm", "0.9.2", ADA, VLLM_FLASH_ATTN_VERSION="3")
    assert one(variable_refused, change(facts, "gpus.0.capability", Unknown("NVML: Unknown Error")))[0] == "unknown"


def test_the_gpus_stay_selected() -> None:
    text = commands(variable_refused, radeon("2.51.1", ROCR_VISIBLE_DEVICES="1"))
    assert "export HIP_VISIBLE_DEVICES=1" in text
    assert "unset ROCR_VISIBLE_DEVICES" in text


@pytest.mark.parametrize(
    ("version", "listed", "outcome"),
    [
        ("0.2.5", "7.0;7.5;8.0;8.9;9.0;10.0+PTX", "problem"),
        ("0.2.5", "5.2 6.0 8.0", "problem"),
        ("0.2.5", "8.0;9.0", "pass"),
        ("0.2.5", "7.5;12.0+PTX", "pass"),
        ("0.6.14", "7.0;9.0", "pass"),
    ],
)
def test_flashinfer_refuses_a_list_with_an_older_gpu(version: str, listed: str, outcome: str) -> None:
    facts = on("flashinfer-python", version, ADA, TORCH_CUDA_ARCH_LIST=listed)
    assert one(variable_refused, facts)[0] == outcome
    if outcome == "problem":
        assert "unset TORCH_CUDA_ARCH_LIST" in commands(variable_refused, facts)
