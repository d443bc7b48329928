"""The order in which CUDA and nvidia-smi count GPUs."""

from typing import Any

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.visibility.cuda_order_differs import cuda_order_differs
from gpudoctor.facts import CudaDevice, Facts
from gpudoctor.maybe import Unknown
from tests.builders import ask, nvidia_host
from tests.checks.nvidia_machines import having

WHY = Unknown("nobody looked")
OLD, NEW = "GPU-00000000-4a1b-2c3d-4e5f-abcdef000000", "GPU-00000001-4a1b-2c3d-4e5f-abcdef000000"
SAYS = "CUDA_VISIBLE_DEVICES=0 selects GPU 1 (NVIDIA GeForce RTX 4090), not GPU 0 (NVIDIA GeForce GTX 1060)."


def mixed(mask: str | None, *shown: Any, order: str | None = None, **changes: Any) -> Facts:
    """A slow card before a fast one on the bus, and what CUDA shows with a mask."""
    env = {"CUDA_VISIBLE_DEVICES": mask, "CUDA_DEVICE_ORDER": order}
    plain: dict[str, Any] = {
        "gpus__0__name": "NVIDIA GeForce GTX 1060",
        "host__environment": {name: value for name, value in env.items() if value is not None},
        "nvidia__cuda__devices": tuple(CudaDevice(index=i, uuid=uuid) for i, uuid in enumerate(shown)),
    }
    return having(nvidia_host(2), **(plain | changes))


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (mixed("0", NEW), ("problem", SAYS)),
        (mixed("0", OLD), ("pass", "")),
        (mixed("1", NEW), ("pass", "")),
        (mixed("0", NEW, order="PCI_BUS_ID"), ("pass", "")),
        (mixed(None, NEW, OLD), ("pass", "")),
        (mixed(OLD, OLD), ("pass", "")),
        (mixed("7", NEW), ("pass", "")),
        (mixed("", NEW), ("pass", "")),
        (mixed("0", WHY), ("pass", "")),
        (mixed("0", NEW, gpus__0__name="NVIDIA GeForce RTX 4090"), ("pass", "")),
        (mixed("0", NEW, gpus__0__mig=True), ("pass", "")),
        (mixed("0", NEW, nvidia__cuda__devices=WHY), ("unknown", "nobody looked")),
        (mixed("0", NEW, gpus__0__uuid=WHY), ("unknown", "nobody looked")),
        (nvidia_host(), ("skipped", "")),
    ],
)
def test_cuda_order_differs(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(cuda_order_differs, facts) == [verdict]


def test_the_gpu_that_was_meant_is_named_by_its_uuid() -> None:
    (verdict,) = run(cuda_order_differs, mixed("0", NEW))
    assert [f.commands for f in verdict.fixes] == [
        ("export CUDA_DEVICE_ORDER=PCI_BUS_ID",),
        (f"export CUDA_VISIBLE_DEVICES={OLD}",),
    ]
