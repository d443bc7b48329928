"""Releases of NCCL that fail between several GPUs of a generation."""

from typing import Any

import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.pytorch.nccl_broken_here import nccl_broken_here
from gpudoctor.facts import Facts, Package
from gpudoctor.tasks.as_typed import shown
from tests.builders import framework, gpu, live, nvidia_host, with_framework
from tests.checks.nvidia_machines import having


def _machine(nccl: str, *capabilities: str, **changes: Any) -> Facts:
    made = tuple(gpu(i, name="NVIDIA GeForce RTX 5090", capability=c) for i, c in enumerate(capabilities))
    facts = having(nvidia_host(len(made)), gpus=made)
    package = Package(name="nvidia-nccl-cu12", version=nccl, directory="/opt/env/lib/python3.11/site-packages")
    return with_framework(framework(live=live(len(made))), facts, packages=(package,), **changes)


@pytest.mark.parametrize(("nccl", "severity"), [("2.25.1", None), ("2.26.2", Severity.ADVICE)])
def test_known_releases(nccl: str, severity: Severity | None) -> None:
    (verdict,) = run(nccl_broken_here, _machine(nccl, "12.0", "12.0"))
    assert verdict.problem is not None
    start = f"nvidia-nccl-cu12 {nccl}, which PyTorch 2.7.1 uses, has a bug on several GPUs of compute capability 12.0: "
    assert verdict.problem.message.startswith(start)
    assert verdict.problem.severity == severity


def test_nccl_alone_is_newer() -> None:
    (verdict,) = run(nccl_broken_here, _machine("2.25.1", "12.0", "12.0"))
    commands = [shown(task) for fix in verdict.fixes for task in fix.tasks]
    assert "nvidia-nccl-cu12>=2.26.5" in commands[0]


@pytest.mark.parametrize(
    "facts",
    [
        _machine("2.26.5", "12.0", "12.0"),
        _machine("2.27.3", "12.0", "12.0"),
        _machine("2.21.5", "12.0", "12.0"),  # pytorch.arch-missing is about that PyTorch
        _machine("2.25.1", "12.0"),
        _machine("2.25.1", "12.0", "8.9"),
        _machine("2.25.1", "10.0", "10.0"),
    ],
)
def test_others(facts: Facts) -> None:
    assert [verdict.problem for verdict in run(nccl_broken_here, facts)] == [None]
