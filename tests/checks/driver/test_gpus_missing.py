"""Fewer GPUs in NVML than on the bus: lost ones, and one that the driver refuses while it runs identical ones."""

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.driver.device_nodes_missing import device_nodes_missing
from gpudoctor.checks.driver.gpus_missing import gpus_missing
from gpudoctor.facts import Facts
from tests.builders import ask, nvidia_host
from tests.checks.nvidia_machines import WHY, event, having, logged, nodes

SOME = having(nvidia_host(2), nvidia__nvml__count=1, gpus=nvidia_host(1).gpus)
REFUSED = having(nvidia_host(3), nvidia__nvml__count=2, gpus=nvidia_host(2).gpus, pci__2__driver=None)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (
            SOME,
            (
                "problem",
                "PCI shows 2 NVIDIA GPUs, the driver lists 1. Missing: The GPU at 0000:02:00.0 (AD102 [GeForce RTX "
                "4090]).",
            ),
        ),
        (
            logged(event("nvrm-gpu-named", gpu="0000:03:00.0"), facts=REFUSED),
            (
                "problem",
                "The driver refused the GPU at 0000:03:00.0 (AD102 [GeForce RTX 4090]), but 2 identical GPUs "
                "(10de:2684) work: the driver supports this model, so this card is faulty.",
            ),
        ),
        (
            REFUSED,  # without a line in the log
            (
                "problem",
                "No driver is bound to the GPU at 0000:03:00.0 (AD102 [GeForce RTX 4090]), though 2 identical GPUs "
                "(10de:2684) work.",
            ),
        ),
        (nvidia_host(), ("pass", "")),
        (having(SOME, pci__1__driver="vfio-pci"), ("pass", "")),
        (having(SOME, nvidia__kernel__nodes=nodes("nvidia0", "nvidiactl")), ("pass", "")),  # one of two was passed
        (having(SOME, nvidia__kernel__parameters={"ExcludedGpus": "GPU-1"}), ("pass", "")),
        (having(REFUSED, nvidia__kernel__parameters={"ExcludedGpus": "GPU-1"}), ("pass", "")),
        (having(nvidia__nvml__code=WHY), ("unknown", WHY.unknown)),
    ],
)
def test_gpus_missing(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(gpus_missing, facts) == [verdict]


EIGHT = having(
    nvidia_host(8),
    nvidia__nvml__count=7,
    cluster__job=None,
    gpus=nvidia_host(7).gpus,
    nvidia__kernel__nodes=nodes("nvidiactl", *(f"nvidia{number}" for number in range(8) if number != 5)),
    nvidia__kernel__gpus=tuple(f"0000:0{number}:00.0" for number in range(1, 9)),
)


def test_a_gpu_whose_node_is_missing() -> None:
    message = "The module has 8 GPUs, and NVML lists 7 of them: /dev/nvidia5 does not exist."
    assert ask(device_nodes_missing, EIGHT) == [("problem", message)]
    (found,) = run(device_nodes_missing, EIGHT)
    assert found.severity.value == "warn"
    assert found.fixes[0].commands[0].startswith("sudo nvidia-modprobe -c 0 -c 1")
    assert ask(device_nodes_missing, having(EIGHT, cluster__job="17")) == [("pass", "")]  # its own GPUs alone
    assert ask(device_nodes_missing, having(EIGHT, pci__7__driver="vfio-pci")) == [("pass", "")]  # for a guest
    assert ask(gpus_missing, EIGHT) == [("pass", "")]


def test_a_card_that_a_virtual_machine_left_is_bound_again() -> None:
    (found,) = run(gpus_missing, REFUSED)
    assert found.fixes[0].commands[-1] == "echo 0000:03:00.0 | sudo tee /sys/bus/pci/drivers_probe"
    (refused,) = run(gpus_missing, logged(event("nvrm-gpu-named", gpu="0000:03:00.0"), facts=REFUSED))
    assert not any("drivers_probe" in command for fix in refused.fixes for command in fix.commands)
    (guest,) = run(
        gpus_missing, having(logged(event("nvrm-gpu-named", gpu="0000:03:00.0"), facts=REFUSED), host__virtual="kvm")
    )
    assert guest.fixes[0].message.startswith("Shut down this virtual machine")
