"""Adapters that cannot reach GPU memory."""

from typing import Any

import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.fabric.gpudirect_rdma_off import gpudirect_rdma_off
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import VERSION, ask
from tests.checks.healthy_nvidia import H100, several
from tests.checks.nvidia_machines import having

WHY = Unknown("/proc/modules: Permission denied")
LOADED = ("mlx5_ib", "nvidia", "nvidia_uvm")


def _node(name: str = "NVIDIA H100 80GB HBM3", **changes: Any) -> Facts:
    plain = {
        "host__rdma_devices": ("mlx5_0", "mlx5_1"),
        "nvidia__kernel__modules": LOADED,
        "nvidia__kernel__flavor": "proprietary",
    }
    return having(several(2, changes=H100 | {"name": name}), **(plain | changes))


@pytest.mark.parametrize(
    ("environment", "severity"),
    [({"SLURM_JOB_ID": "7"}, None), ({"NCCL_IB_HCA": "mlx5"}, None), ({}, Severity.ADVICE)],
)
def test_it_is_off(environment: dict[str, str], severity: Severity | None) -> None:
    (verdict,) = run(gpudirect_rdma_off, _node(host__environment=environment))
    assert verdict.problem is not None
    assert verdict.problem.message == (
        "Network adapters with RDMA (mlx5_0, mlx5_1) cannot reach GPU memory: nvidia_peermem is not loaded, and the "
        f"proprietary driver {VERSION} has no DMA-BUF."
    )
    assert verdict.problem.severity == severity


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (_node(nvidia__kernel__modules=(*LOADED, "nvidia_peermem")), ("pass", "")),
        (_node(nvidia__kernel__modules=(*LOADED, "nv_peer_mem")), ("pass", "")),
        (_node(nvidia__kernel__flavor="open"), ("pass", "")),  # DMA-BUF
        (_node(nvidia__kernel__modules=("nvidia", "efa")), ("pass", "")),  # EFA needs neither
        (_node(host__rdma_devices=()), ("pass", "")),
        (_node("NVIDIA GeForce RTX 4090"), ("pass", "")),
        (_node(nvidia__kernel__modules=WHY), ("unknown", WHY.unknown)),
        (_node(nvidia__kernel__flavor=WHY), ("unknown", WHY.unknown)),
    ],
)
def test_it_is_on_or_not_possible(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(gpudirect_rdma_off, facts) == [verdict]
