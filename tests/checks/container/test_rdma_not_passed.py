"""RDMA adapters that were not passed into a container, where somebody wants NCCL to use them."""

import msgspec
import pytest

from gpudoctor.check_engine import Problem, run
from gpudoctor.checks.container.rdma_not_passed import rdma_not_passed
from gpudoctor.facts import Facts
from tests.builders import change, nvidia_host


def _inside(*devices: str, passed: bool = False, container: str | None = "docker", **environment: str) -> Facts:
    facts = nvidia_host(2)
    host = msgspec.structs.replace(
        facts.host, container=container, rdma_devices=devices, rdma=passed, environment=environment
    )
    return change(facts, "host", host)


@pytest.mark.parametrize(
    "facts",
    [
        _inside("mlx5_0", "mlx5_1", NCCL_IB_HCA="mlx5_0"),
        _inside("mlx5_0", "mlx5_1", NCCL_IB_DISABLE="0"),
        _inside("mlx5_0", "mlx5_1", NCCL_NET="IB"),
        _inside("mlx5_0", "mlx5_1", FI_PROVIDER="efa"),  # as EFA is asked for
        _inside("mlx5_0", "mlx5_1", NCCL_NET_PLUGIN="ofi"),
    ],
)
def test_adapters_without_nodes_are_reported(facts: Facts) -> None:
    (verdict,) = run(rdma_not_passed, facts)
    assert isinstance(verdict.problem, Problem)
    assert verdict.problem.message == (
        "The machine has RDMA adapters (mlx5_0, mlx5_1), but /dev/infiniband was not passed into this container: NCCL "
        "uses TCP sockets."
    )


@pytest.mark.parametrize(
    "facts",
    [
        _inside("mlx5_0"),  # nobody wants it
        _inside("mlx5_0", NCCL_IB_DISABLE="1"),
        _inside("mlx5_0", FI_PROVIDER="tcp"),
        _inside("mlx5_0", NCCL_NET_PLUGIN="none"),
        _inside("mlx5_0", passed=True, NCCL_IB_HCA="mlx5_0"),
        _inside(NCCL_IB_HCA="mlx5_0"),  # there is none
        _inside("mlx5_0", container=None, NCCL_IB_HCA="mlx5_0"),
    ],
)
def test_who_needs_none_is_left_alone(facts: Facts) -> None:
    assert [verdict.problem for verdict in run(rdma_not_passed, facts)] == [None]
