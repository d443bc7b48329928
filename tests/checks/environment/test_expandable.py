"""Expandable segments of PyTorch's allocator, where they fail."""

from typing import Any

import pytest

from gpudoctor.checks.environment.expandable_segments import expandable_segments
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import change, gpu
from tests.checks.environments import commands, environment, machine, one, package, torch, verifies

ON = "expandable_segments:True"
H200 = {"name": "NVIDIA H200", "nvlinks": (True,) * 18}
L40S = {"name": "NVIDIA L40S", "nvlinks": None}
A4000 = {"name": "NVIDIA RTX A4000"}
WHY = Unknown("NVML: Unknown Error")


def env(facts: Facts, value: str = ON, name: str = "PYTORCH_CUDA_ALLOC_CONF") -> Facts:
    return change(facts, "host.environment", {name: value})


def vllm(version: str = "0.22.0", *cards: dict[str, Any]) -> Facts:
    facts = environment(torch("2.11.0"), packages=(package("vllm", version),))
    return change(facts, "gpus", tuple(gpu(n, **one) for n, one in enumerate(cards or (H200, H200))))


def wsl(driver: Any = "610.74", card: dict[str, Any] = A4000, release: str = "2.13.0") -> Facts:
    facts = change(environment(torch(release), facts=machine("13.3", card=card)), "host.wsl", 2)
    return change(facts, "nvidia.kernel.loaded", driver)


def rl(version: str, trainer: str = "openrlhf") -> Facts:
    """One GPU, with vLLM and what trains with its sleep mode."""
    there = (package("vllm", version), package(trainer, "0.9.0"))
    return change(vllm(version, H200), "pythons.0.packages", there)


GEFORCE = {"name": "NVIDIA GeForce RTX 4090", "nvlinks": None}


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        (env(vllm()), "problem"),
        (env(vllm(), name="PYTORCH_ALLOC_CONF"), "problem"),
        (env(vllm(), f"{ON},expandable_segments:False"), "pass"),  # the last one counts
        (env(vllm(), "max_split_size_mb:64"), "pass"),
        (env(vllm("0.22.0", H200)), "pass"),  # a single GPU
        (env(vllm("0.22.0", GEFORCE, GEFORCE)), "pass"),  # which cannot write to one another
        (env(vllm("0.22.0", GEFORCE | {"nvlinks": (True,)}, GEFORCE | {"nvlinks": (True,)})), "problem"),
        (env(vllm("0.22.0", L40S, L40S)), "problem"),
        (env(vllm("0.22.0", *4 * (L40S,))), "pass"),  # vLLM leaves it off itself
        (env(vllm("0.22.0", *4 * (L40S | {"nvlinks": WHY},))), "unknown"),
        (env(vllm("0.22.0", *4 * (H200,))), "problem"),
        (env(vllm("0.22.0", {"name": "NVIDIA T400"}, L40S)), "pass"),  # no pair
        (env(vllm("0.22.0", {"name": "NVIDIA T400"}, L40S, L40S)), "problem"),
        (env(vllm("0.22.0", H200 | {"mig": True}, H200 | {"mig": True})), "pass"),  # a process gets one instance
        (env(vllm("0.12.0")), "pass"),  # no report of it
        (env(change(vllm(), "pythons.0.packages", (package("torch", "2.11.0"),))), "pass"),
        (vllm(), "pass"),
        (env(change(vllm(), "pythons.0.packages", Unknown("closed"))), "unknown"),
        (env(rl("0.11.0")), "problem"),
        (env(rl("0.20.0", "nemo-rl")), "problem"),
        (env(rl("0.20.1")), "pass"),  # it turns them off itself
        (env(rl("0.11.0", "trl")), "pass"),  # which uses sleep mode on request
        (env(wsl()), "problem"),
        (env(wsl("616.92")), "pass"),
        (env(wsl(card=GEFORCE)), "pass"),  # GPUDirect RDMA is not for GeForce
        (env(wsl(release="2.7.1")), "pass"),  # it does not ask for GPUDirect RDMA
        (env(change(wsl(), "host.wsl", None)), "pass"),
        (env(wsl(card={"name": WHY})), "unknown"),
    ],
)
def test_expandable_segments(facts: Facts, outcome: str) -> None:
    assert one(expandable_segments, facts)[0] == outcome


def test_what_it_says() -> None:
    expected = (
        "PYTORCH_CUDA_ALLOC_CONF turns expandable segments on, which fail with PyTorch 2.13.0 here: NVIDIA's driver "
        "for WSL up to R610 fails to map such memory on a GPU that supports GPUDirect RDMA, and the first tensor ends "
        'with "CUDA driver error: unknown error".'
    )
    assert one(expandable_segments, env(wsl())) == ("problem", expected)
    assert "616.92 or newer on Windows" in commands(expandable_segments, env(wsl()))


def test_sleep_mode() -> None:
    facts = env(rl("0.11.0"))
    assert (
        "expandable segments on, which fail with vllm 0.11.0 here: its sleep mode" in one(expandable_segments, facts)[1]
    )
    typed = commands(expandable_segments, facts)
    assert "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False" in typed
    assert "Or install vLLM 0.20.1 or newer" in typed


def test_other_options_stay() -> None:
    said = commands(expandable_segments, env(vllm(), f"max_split_size_mb:64,{ON}"))
    assert "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False,max_split_size_mb:64" in said
    assert "--disable-custom-all-reduce" in said


@pytest.mark.parametrize(
    ("facts", "proof"),
    [(env(vllm()), "env | grep '^PYTORCH_CUDA_ALLOC_CONF='"), (env(wsl()), "torch.ones")],
)
def test_what_passes_before_the_fix_proves_nothing(facts: Facts, proof: str) -> None:
    (verify,) = verifies(expandable_segments, facts)
    assert proof in str(verify)
