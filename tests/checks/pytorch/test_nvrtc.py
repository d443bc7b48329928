"""PyTorch's run-time compiler and the GPU."""

from typing import Any
from unittest.mock import ANY

import pytest

from gpudoctor.checks.pytorch.nvrtc_too_old import nvrtc_too_old
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.checks.environments import A100, commands, environment, machine, one, package, torch

GB10 = {"name": "NVIDIA GB10", "generation": "Blackwell", "capability": "12.1", "chip": "GB20B"}


def with_torch(version: Any, cuda: Any, card: dict[str, Any] | None = None, nvrtc: str = "") -> Facts:
    wheels = (package("nvidia-cuda-nvrtc-cu12", nvrtc),) if nvrtc else ()
    return environment(torch(version, cuda=cuda), packages=wheels, facts=machine(card=card))


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (
            with_torch("1.12.1", "11.3"),
            (
                "problem",
                "The NVRTC of PyTorch 1.12.1, of CUDA 11.3, does not know GPU 0 (NVIDIA GeForce RTX 4090, Ada, "
                "compute capability 8.9, sm_89); CUDA 11.8 is the first that does.",
            ),
        ),
        (with_torch("1.13.1", "11.7"), ("pass", "")),
        (with_torch("1.12.1", "11.8"), ("pass", "")),
        (with_torch("1.12.1", "11.3", A100), ("pass", "")),
        (
            with_torch("2.9.1", "12.8", GB10),
            (
                "problem",
                "The NVRTC of PyTorch 2.9.1, of CUDA 12.8, does not know GPU 0 (NVIDIA GB10, Blackwell, compute "
                "capability 12.1, sm_121); CUDA 12.9 is the first that does.",
            ),
        ),
        (with_torch("2.9.1", "12.8", {**GB10, "capability": "12.0"}), ("pass", "")),
        (with_torch("2.10.0", "12.8", {**GB10, "capability": "10.3"}), ("problem", ANY)),
        (with_torch("2.9.1", "13.0", GB10), ("pass", "")),
        (with_torch("2.9.1", "12.8", GB10, "12.9.86"), ("pass", "")),  # a newer wheel of NVRTC
        (with_torch("2.9.1", "12.8", GB10, "12.8.93"), ("problem", ANY)),
        (with_torch("2.4.1", "11.7", GB10), ("pass", "")),  # clamped; that it has no kernels is another matter
        (with_torch("1.12.1", None), ("pass", "")),
        (with_torch("1.12.1", Unknown("closed")), ("unknown", "closed")),
        (with_torch("1.12.1", "11.3", {"capability": Unknown("lost")}), ("unknown", "lost")),
    ],
)
def test_nvrtc_too_old(facts: Facts, verdict: tuple[str, str]) -> None:
    assert one(nvrtc_too_old, facts) == verdict


def test_a_newer_pytorch_is_installed() -> None:
    assert "download.pytorch.org/whl/" in commands(nvrtc_too_old, with_torch("1.12.1", "11.3"))
