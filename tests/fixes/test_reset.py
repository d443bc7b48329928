"""What has to let go of a GPU before it can be reset."""

from typing import Any

import pytest

from gpudoctor.check_engine import run
from gpudoctor.facts import Facts
from gpudoctor.fixes.reset import reset
from gpudoctor.tasks.as_typed import shown
from tests.builders import change, nvidia_host
from tests.checks.rows import problems

FUSER = "fuser -v /dev/nvidia*"


def _machine(persistence: Any, *modules: str) -> Facts:
    facts = change(nvidia_host(2), "nvidia.kernel.modules", ("nvidia", "nvidia_uvm", *modules))
    return change(facts, "gpus.1.persistence", persistence)


@pytest.mark.parametrize(
    ("facts", "numbers", "commands"),
    [
        (_machine(False), (1,), ["nvidia-smi --gpu-reset -i 1"]),
        (
            _machine(True),
            (1,),
            ["nvidia-smi -pm 0 -i 1", "nvidia-smi --gpu-reset -i 1", "nvidia-smi -pm 1 -i 1"],
        ),
        (_machine(True), (0,), ["nvidia-smi --gpu-reset -i 0"]),
        (
            _machine(True, "nvidia_drm"),
            (),
            [
                "nvidia-smi -pm 0",
                "rmmod nvidia_drm",
                "nvidia-smi --gpu-reset",
                "modprobe nvidia_drm",
                "nvidia-smi -pm 1",
            ],
        ),
        (_machine(False), (0, 1), ["nvidia-smi --gpu-reset -i 0,1"]),
    ],
)
def test_reset(facts: Facts, numbers: tuple[int, ...], commands: list[str]) -> None:
    assert [shown(task, sudo=False) for task in reset(facts, *numbers)] == [FUSER, *commands]


def test_every_reset_shows_first_what_holds_the_gpu() -> None:
    found = [
        (one.id, [shown(task, sudo=False) for task in fix.tasks])
        for one, facts in problems()
        for verdict in run(one, facts)
        for fix in verdict.fixes
    ]
    resets = [(id_, typed) for id_, typed in found if any("nvidia-smi --gpu-reset" in line for line in typed)]
    assert {id_ for id_, _ in resets} >= {"smoke.hangs", "device.nvlink-fault", "fabric.registration-failed"}
    assert [id_ for id_, typed in resets if FUSER not in typed] == []
