"""Machines whose processor and GPU share a package: what ails them, and which wheels they get."""

from typing import Any

import msgspec
import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.driver.proprietary_module_unsupported import proprietary_module_unsupported
from gpudoctor.checks.health.spark_held_down import spark_held_down
from gpudoctor.checks.health.unified_memory_exhausted import unified_memory_exhausted
from gpudoctor.checks.host.out_of_memory_kills import out_of_memory_kills
from gpudoctor.checks.pytorch.arch_missing import arch_missing
from gpudoctor.checks.pytorch.cpu_build import cpu_build
from gpudoctor.facts import Facts, Framework, LogEvent
from gpudoctor.knowledge import jetson
from gpudoctor.maybe import Unknown
from tests.builders import ask, framework, live, python
from tests.checks import healthy_nvidia as nv
from tests.checks.nvidia_machines import event, having

CPU = framework("torch", "2.5.1", cuda=None, variant="cpu", archs=(), live=live(0))
SERVERS = framework("torch", "2.9.1", cuda="12.6", archs=("sm_80", "sm_90"))  # built for servers with Arm
GUIDE = "https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform/"


def running(found: Framework, facts: Facts, version: str) -> Facts:
    """The machine with this PyTorch in an environment of this Python."""
    return msgspec.structs.replace(facts, pythons=(python(found, version=version),))


@pytest.mark.parametrize(
    ("machine", "name"), [(nv.jetson(), "Orin (nvgpu)"), (nv.old_jetson(), "Orin")], ids=["JetPack 6", "JetPack 5"]
)
def test_a_jetson_with_the_wrong_wheel(machine: Facts, name: str) -> None:
    (verdict,) = run(cpu_build, running(CPU, machine, "3.10.12"))
    assert (
        verdict.message == f"PyTorch 2.5.1 is a CPU-only build, without CUDA support, and does not use GPU 0 ({name})."
    )
    assert verdict.severity is Severity.ERROR
    (verdict,) = run(arch_missing, running(SERVERS, machine, "3.10.12"))
    assert verdict.message == (
        f"PyTorch 2.9.1 has no kernels for GPU 0 ({name}, Ampere, compute capability 8.7, sm_87): it was compiled only "
        "for sm_80, sm_90."
    )
    assert verdict.severity is Severity.ERROR


LAB = "https://pypi.jetson-ai-lab.io"
PIP = "/opt/env/bin/python -m pip"
AGAIN = f"{PIP} install --force-reinstall --no-deps --index-url"
REST = f"{PIP} install --index-url"


@pytest.mark.parametrize(
    ("l4t", "version", "commands"),
    [
        (
            "36.4.3",
            "3.10.12",
            (f"{AGAIN} {LAB}/jp6/cu126 torch", f"{REST} {LAB}/jp6/cu126 torch"),
        ),
        (
            "36.4.3",
            "3.12.3",
            (
                "python3.10 -m venv /opt/env-jetson",
                f"/opt/env-jetson/bin/python -m pip install --index-url {LAB}/jp6/cu126 torch",
            ),
        ),
        (
            "35.4.1",
            "3.8.10",
            (f"{AGAIN} {LAB}/jp5/cu114 torch", f"{REST} {LAB}/jp5/cu114 torch"),
        ),
        ("36.3.0", "3.10.12", ()),
        ("32.7.1", "3.6.9", ()),
        (None, "3.10.12", ()),
        (Unknown("nobody looked"), "3.10.12", ()),
    ],
)
def test_the_wheels_of_a_jetpack(l4t: Any, version: str, commands: tuple[str, ...]) -> None:
    (verdict,) = run(cpu_build, having(running(CPU, nv.jetson(), version), host__l4t=l4t))
    assert verdict.fixes[0].commands == commands
    assert GUIDE in verdict.fixes[0].message


@pytest.mark.parametrize(("l4t", "jetpack"), [("38.2.0", "7"), ("36.2", "6"), ("35.1", "5"), ("32.7", None)])
def test_jetpack_of_a_release(l4t: str, jetpack: str | None) -> None:
    found = jetson.release(l4t)
    assert (found.jetpack if found else None) == jetpack


SILENT: dict[str, Any] = {"gpus": (), "nvidia__nvml__count": 0, "nvidia__kernel__flavor": "proprietary"}


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        (having(nv.superchip(), **SILENT), "problem"),
        (nv.superchip(), "pass"),
        (having(nv.superchip(), **(SILENT | {"nvidia__kernel__flavor": "open"})), "pass"),
        (having(nv.superchip(), **SILENT, host__platform="bare"), "pass"),  # Hopper on PCIe runs with either
        (having(nv.spark(), **SILENT), "problem"),
        (nv.spark(), "pass"),
    ],
)
def test_the_proprietary_modules_beside_grace(facts: Facts, outcome: str) -> None:
    assert [found for found, _ in ask(proprietary_module_unsupported, facts)] == [outcome]


def at_work(**changes: Any) -> Facts:
    """A DGX Spark at work."""
    plain = {"utilization": 96, "performance_state": 0, "sm_clock": 513, "sm_clock_max": 3003, "event_reasons": ()}
    return having(nv.spark(), **{f"gpus__0__{name}": value for name, value in (plain | changes).items()})


WHY = Unknown("nobody looked")
SLOW = "GPU 0 (NVIDIA GB10) runs at 513 of 3003 MHz"


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (at_work(), ("problem", f"{SLOW} at 20 W under load, for no reported reason.")),
        (at_work(sm_clock=2411), ("pass", "")),
        (at_work(utilization=4), ("pass", "")),
        (at_work(event_reasons=("sw-thermal-slowdown",)), ("pass", "")),
        (at_work(event_reasons=("applications-clocks",)), ("pass", "")),
        (at_work(sm_clock=WHY), ("unknown", "nobody looked")),
        (at_work(event_reasons=WHY), ("unknown", "nobody looked")),
        # in a container, and of another maker whose board is not known: the GPU's name is enough
        (having(at_work(power=WHY), host__platform="bare"), ("problem", f"{SLOW} under load, for no reported reason.")),
        (having(at_work(name="NVIDIA GeForce RTX 5090"), host__platform="bare"), ("pass", "")),
        (nv.spark(), ("pass", "")),
    ],
)
def test_spark_held_down(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(spark_held_down, facts) == [verdict]


NO_MEMORY = event("driver-no-memory", "NVRM: Check failed: Out of memory [NV_ERR_NO_MEMORY] (0x00000051)")


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        (having(nv.spark(), log__events=(NO_MEMORY,)), "problem"),
        (having(nv.jetson(), log__events=(NO_MEMORY,)), "problem"),
        (nv.spark(), "pass"),
        (having(nv.spark(), log__events=WHY), "pass"),
        (having(nv.working(), log__events=(NO_MEMORY,)), "pass"),
    ],
)
def test_unified_memory_exhausted(facts: Facts, outcome: str) -> None:
    message = "The driver ran out of memory, which GPU and CPU share here."
    assert ask(unified_memory_exhausted, facts) == [(outcome, message if outcome == "problem" else "")]


def spark_with(kernel: str, line: str = "root=/dev/nvme0n1p2 ro quiet") -> Facts:
    """A DGX Spark whose driver found no memory, under this kernel."""
    words = {"host__kernel__release": kernel, "host__kernel__command_line": line}
    return having(nv.spark(), log__events=(NO_MEMORY,), **words)


@pytest.mark.parametrize(
    ("facts", "offered"),
    [
        (spark_with("7.0.0-1019-nvidia"), True),
        (spark_with("7.0.0-1019-nvidia", "ro quiet kho=off"), False),
        (spark_with("6.17.0-1032-nvidia"), False),
        (having(nv.jetson(), log__events=(NO_MEMORY,), host__kernel__release="7.0.0-1019-nvidia"), False),
    ],
)
def test_a_kernel_that_keeps_memory_for_its_successor(facts: Facts, offered: bool) -> None:
    fixes = run(unified_memory_exhausted, facts)[0].fixes
    assert ("Add kho=off to the kernel command line" in fixes[0].message) is offered


def test_memory_that_the_gpu_takes_is_main_memory_here() -> None:
    killed = LogEvent(kind="oom-kill", text="Killed process 7 (python3)", what={"process": "python3"})
    (verdict,) = run(out_of_memory_kills, having(nv.spark(), log__events=(killed,)))
    assert verdict.problem is not None
    assert "what a model uses on the GPU counts" in str(verdict.problem.cause)
    (verdict,) = run(out_of_memory_kills, having(nv.working(), log__events=(killed,)))
    assert verdict.problem is not None
    assert verdict.problem.cause is None
