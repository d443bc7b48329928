"""A GPU that PyTorch reports as available and cannot use."""

from typing import Any

import pytest

from gpudoctor.checks.pytorch.unusable_gpu import unusable_gpu
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import live
from tests.checks.amd_machines import amd_host
from tests.checks.environments import commands, environment, one, torch
from tests.checks.intel_machines import arc_host

WHY = Unknown("it crashed")
FAILS = "reports that a GPU is available, but fails to initialize it."
NONE = "reports that a GPU is available, but device_count() is 0."


def cuda(**changes: Any) -> Facts:
    return environment(torch(live=live(**changes)))


def rocm(**changes: Any) -> Facts:
    found = torch("2.11.0+rocm7.13.0", variant="rocm", cuda=None, hip="7.13", live=live(**changes))
    return environment(found, facts=amd_host())


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (cuda(), ("pass", "")),
        (cuda(available=False, count=0), ("pass", "")),  # pytorch.no-gpu
        (cuda(available=True, count=0), ("problem", f"PyTorch 2.7.1 {NONE}")),
        (cuda(error="CUDA error: unknown error"), ("problem", f"PyTorch 2.7.1 {FAILS}")),
        (cuda(died="SIGSEGV", count=WHY), ("pass", "")),  # pytorch.import-crashes
        (cuda(available=WHY), ("unknown", "it crashed")),
        (cuda(count=WHY), ("unknown", "it crashed")),
        (cuda(error=WHY), ("unknown", "it crashed")),
        (rocm(), ("pass", "")),
        (rocm(available=True, count=0), ("problem", f"PyTorch 2.11.0+rocm7.13.0 {NONE}")),
    ],
)
def test_unusable_gpu(facts: Facts, verdict: tuple[str, str]) -> None:
    assert one(unusable_gpu, facts) == verdict


def test_an_xpu_build_is_asked_by_its_own_module() -> None:
    xpu = environment(torch("2.9.0+xpu", variant="xpu", cuda=None, live=live(1, count=0)), facts=arc_host())
    assert 'device="xpu"' in commands(unusable_gpu, xpu)
    assert 'device="cuda"' in commands(unusable_gpu, cuda(available=True, count=0))


def test_the_error_is_read_by_a_command_that_uses_the_gpu() -> None:
    assert "torch.cuda.init(); print(torch.ones" in commands(unusable_gpu, cuda(error="CUDA error: unknown error"))
