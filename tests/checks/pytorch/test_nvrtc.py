"""PyTorch's run-time compiler and the GPU."""

from typing import Any

import pytest

from gpudoctor.checks.pytorch.nvrtc_too_old import nvrtc_too_old
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.checks.environments import A100, commands, environment, machine, one, torch


def with_torch(version: Any, cuda: Any, card: dict[str, Any] | None = None) -> Facts:
    return environment(torch(version, cuda=cuda), facts=machine(card=card))


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
        (with_torch("1.12.1", None), ("pass", "")),
        (with_torch("1.12.1", Unknown("closed")), ("unknown", "closed")),
        (with_torch("1.12.1", "11.3", {"capability": Unknown("lost")}), ("unknown", "lost")),
    ],
)
def test_nvrtc_too_old(facts: Facts, verdict: tuple[str, str]) -> None:
    assert one(nvrtc_too_old, facts) == verdict


def test_a_newer_pytorch_is_installed() -> None:
    assert "download.pytorch.org/whl/" in commands(nvrtc_too_old, with_torch("1.12.1", "11.3"))
