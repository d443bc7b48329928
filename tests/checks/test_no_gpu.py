"""No GPU at all is advice, and silence about it would be taken for health."""

import msgspec
import pytest

from gpudoctor.checks.device.no_gpu import no_gpu
from gpudoctor.facts import Facts
from gpudoctor.judge import run
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, framework, host, live, nvidia_host, plain_host, with_framework
from tests.checks.amd_machines import amd_host

SAYS = "No GPU is found on this machine, so frameworks run on the CPU."


@pytest.mark.parametrize(
    ("facts", "outcome", "says"),
    [
        (plain_host(), "problem", SAYS),
        (
            plain_host(host=host(container="docker")),
            "problem",
            "No GPU is passed to this container, so frameworks run on the CPU.",
        ),
        (nvidia_host(), "pass", ""),
        (amd_host(), "pass", ""),
        (change(nvidia_host(), "gpus", Unknown("NVML: 9")), "pass", ""),
        (change(plain_host(), "pci", Unknown("/sys is not mounted")), "unknown", "/sys is not mounted"),
        (change(plain_host(), "host.wsl", 2), "pass", ""),
    ],
)
def test_no_gpu(facts: Facts, outcome: str, says: str) -> None:
    assert ask(no_gpu, facts) == [(outcome, says)]


def test_what_frameworks_said_is_shown() -> None:
    facts = with_framework(framework(live=live(0, error="Found no NVIDIA driver on your system.")), plain_host())
    (verdict,) = run(no_gpu, facts)
    assert verdict.problem is not None
    assert verdict.problem.evidence == ("PyTorch 2.7.1: Found no NVIDIA driver on your system.",)


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        ("CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected", True),
        ("cudaErrorInsufficientDriver: CUDA driver version is insufficient", True),
        ("libcuda.so.1: cannot open shared object file", True),
        ("No HIP GPUs are available", True),
        ("Failed to load libcublasLt.so.12: cannot open shared object file", False),
        ("Torch not compiled with CUDA enabled", False),
    ],
)
def test_only_what_speaks_of_driver_or_device_is_shown(error: str, shown: bool) -> None:
    facts = with_framework(framework(live=live(0, error=error)), plain_host())
    (verdict,) = run(no_gpu, facts)
    assert verdict.problem is not None
    assert bool(verdict.problem.evidence) is shown


def test_the_environment_is_named_where_there_are_several() -> None:
    facts = with_framework(framework(live=live(0, error="Found no NVIDIA driver.")), plain_host())
    other = msgspec.structs.replace(facts.pythons[0], path="/other/bin/python", frameworks=())
    (verdict,) = run(no_gpu, change(facts, "pythons", (*facts.pythons, other)))
    assert verdict.problem is not None
    assert verdict.problem.evidence == (f"PyTorch 2.7.1 in {facts.pythons[0].path}: Found no NVIDIA driver.",)


def test_cupy_does_not_run_on_the_cpu() -> None:
    facts = with_framework(framework("cupy"), plain_host())
    expected = (
        "No GPU is found on this machine, so frameworks run on the CPU, and CuPy, which needs a GPU, does not run."
    )
    assert ask(no_gpu, facts) == [("problem", expected)]


@pytest.mark.parametrize(
    ("changes", "words"),
    [({}, "BIOS"), ({"virtual": "kvm"}, "virtual machine"), ({"container": "docker"}, "container")],
)
def test_the_fix_is_for_the_kind_of_machine(changes: dict[str, str], words: str) -> None:
    (verdict,) = run(no_gpu, plain_host(host=host(**changes)))
    assert words in verdict.fixes[0].says
