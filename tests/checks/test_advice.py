"""Advice: only where a framework computes, only what is special about the machine, and never a failure."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Severity, judge
from gpudoctor.checks.advice.compiled_at_first_use import compiled_at_first_use
from gpudoctor.checks.advice.few_cpus import few_cpus
from gpudoctor.checks.advice.memory_taken_at_once import memory_taken_at_once
from gpudoctor.checks.advice.no_bfloat16 import no_bfloat16
from gpudoctor.checks.advice.small_memory import small_memory
from gpudoctor.facts import Facts, Framework
from gpudoctor.maybe import Unknown
from gpudoctor.queries.gpu_requests import without_gpu
from gpudoctor.report.build import build
from tests.builders import change, framework, nvidia_host, plain_host
from tests.checks import healthy_nvidia as nv
from tests.checks.environments import BLACKWELL, PASCAL, blind, commands, environment, machine, one, torch
from tests.checks.test_healthy import MACHINES

T4 = {"name": "Tesla T4", "generation": "Turing", "capability": "7.5", "memory": 16 << 30}
GTX = {"name": "NVIDIA GeForce GTX 1660 SUPER", "generation": "Turing", "capability": "7.5", "memory": 6 << 30}
TF = framework("tensorflow", "2.19.0", cuda="12.5")
SILENT = Unknown("NVML: Not Supported")


def on(card: dict[str, Any] | None = None, *frameworks: Framework, **changes: Any) -> Facts:
    facts = environment(*(frameworks or (torch(),)), facts=machine(card=card or {}))
    facts = change(facts, "nvidia.cuda.devices", Unknown("not asked"))
    for path, value in changes.items():
        facts = change(facts, path.replace("__", "."), value)
    return facts


def test_every_advice_is_advice() -> None:
    found = [one for one in catalogue.load() if one.area == "advice"]
    assert len(found) > 4
    assert {one.severity for one in found} == {Severity.ADVICE}


@pytest.mark.parametrize("facts", MACHINES.values(), ids=MACHINES.keys())
def test_a_healthy_machine_is_not_drowned_in_advice(facts: Facts) -> None:
    report = build(facts, judge(facts, catalogue.load()))
    assert len([f for f in report.findings if f.check.startswith("advice.")]) <= 2
    assert report.status == ("no-gpu" if without_gpu(facts) else "pass")


@pytest.mark.parametrize("facts", [nv.several(1), nv.hgx(nv.H100, 4), nvidia_host(), plain_host(), on()])
def test_an_ordinary_machine_gets_none(facts: Facts) -> None:
    checks = [one for one in catalogue.load() if one.area == "advice"]
    assert [v.message for v in judge(facts, checks) if v.outcome.value == "problem"] == []


def test_no_bfloat16() -> None:
    message = "GPU 0 (Tesla T4, Turing, compute capability 7.5, sm_75) supports bfloat16 only by emulation."
    assert one(no_bfloat16, on(T4)) == ("problem", message)
    assert "GradScaler" in commands(no_bfloat16, on(T4))
    assert "--no-half" in commands(no_bfloat16, on(GTX))
    assert "torch.compile does not support it" in commands(no_bfloat16, on(PASCAL))
    two = change(on(T4), "gpus", (on(T4).gpus[0], on(T4).gpus[0]))  # type: ignore[index]
    assert "and 1 more support bfloat16" in one(no_bfloat16, two)[1]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (on(), ("pass", "")),
        (on(T4, torch(cuda=None, variant="cpu")), ("pass", "")),
        (on(T4, torch(live=blind())), ("pass", "")),
        (on(T4, nvidia__cuda__code=999), ("pass", "")),
        (on(T4, torch(archs=("sm_80", "sm_90"))), ("pass", "")),  # it has no code for this GPU anyway
        (on(gpus__0__capability=SILENT), ("unknown", "NVML: Not Supported")),
        (on({}, torch(live=blind()), gpus__0__capability=SILENT), ("pass", "")),
    ],
)
def test_bfloat16_where_nothing_is_to_be_said(facts: Facts, expected: tuple[str, str]) -> None:
    assert one(no_bfloat16, facts) == expected


def ptx(**changes: Any) -> Facts:
    found = torch("2.6.0", cuda="12.4", archs=("sm_80", "sm_86", "sm_90", "compute_90"), **changes)
    return on(BLACKWELL, found)


def test_compiled_at_first_use() -> None:
    message = (
        "PyTorch 2.6.0 has no machine code for GPU 0 (NVIDIA GeForce RTX 5090, Blackwell, compute capability 12.0, "
        "sm_120), only PTX; a newer build has both."
    )
    assert one(compiled_at_first_use, ptx()) == ("problem", message)
    assert "https://download.pytorch.org/whl/cu128" in commands(compiled_at_first_use, ptx())
    assert one(compiled_at_first_use, on()) == ("pass", "")
    assert one(compiled_at_first_use, change(ptx(), "pythons.0.version", "3.6.1")) == ("pass", "")  # no wheel for it
    closed = change(ptx(), "pythons.0.frameworks.0.archs", Unknown("closed"))
    assert one(compiled_at_first_use, closed) == ("unknown", "closed")
    counted = ("sm_80", "sm_120")
    assert one(compiled_at_first_use, change(ptx(), "pythons.0.frameworks.0.kernels", counted)) == ("pass", "")


def test_memory_taken_at_once() -> None:
    message = (
        "TensorFlow and PyTorch share this environment, and TensorFlow preallocates nearly all of the GPU's memory."
    )
    assert one(memory_taken_at_once, on({}, TF, torch())) == ("problem", message)
    assert "export TF_FORCE_GPU_ALLOW_GROWTH=true" in commands(memory_taken_at_once, on({}, TF, torch()))
    jax = framework("jax", "0.9.2", cuda="12")
    assert "JAX preallocates three quarters" in one(memory_taken_at_once, on({}, torch(), jax))[1]
    assert one(memory_taken_at_once, on({}, TF)) == ("pass", "")
    assert one(memory_taken_at_once, on({}, TF, torch(live=blind()))) == ("pass", "")
    for variable in ("TF_FORCE_GPU_ALLOW_GROWTH", "TF_GPU_ALLOCATOR"):
        limited = change(on({}, TF, torch()), "host.environment", {variable: "true"})
        assert one(memory_taken_at_once, limited) == ("pass", "")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"gpus__0__memory": 8 << 30},
            (
                "problem",
                "GPU 0 (NVIDIA GeForce RTX 4090) has 8 GiB: enough to fully train about 0.4 billion parameters, and to "
                "run about 4 billion in 16 bits or 10 billion in 4.",
            ),
        ),
        ({"gpus__0__memory": 12 << 30}, ("pass", "")),
        ({"gpus__0__memory": None}, ("pass", "")),
        ({"gpus__0__memory": 8 << 30, "gpus__0__integrated": True}, ("pass", "")),
        ({"gpus__0__memory": 8 << 30, "host__platform": "laptop"}, ("pass", "")),
        ({"gpus__0__memory": SILENT}, ("unknown", "NVML: Not Supported")),
    ],
)
def test_small_memory(changes: dict[str, Any], expected: tuple[str, str]) -> None:
    assert one(small_memory, on(**changes)) == expected


@pytest.mark.parametrize(
    ("cpus", "container", "expected"),
    [
        (1.0, "docker", ("problem", "This program may use 1 core for 1 GPU.")),
        (1.5, "docker", ("problem", "This program may use 1.5 cores for 1 GPU.")),
        (2.0, "docker", ("pass", "")),
        (1.0, None, ("pass", "")),
        (Unknown("no cgroup"), "docker", ("unknown", "no cgroup")),
        (Unknown("no cgroup"), None, ("pass", "")),
    ],
)
def test_few_cpus(cpus: object, container: str | None, expected: tuple[str, str]) -> None:
    facts = on(host__cpus=cpus, host__container=container)
    assert one(few_cpus, facts) == expected


def test_few_cpus_by_whoever_gave_them() -> None:
    slurm = on(host__cpus=1.0, host__environment={"SLURM_JOB_ID": "7"})
    assert "--cpus-per-task=4" in commands(few_cpus, slurm)
    docker = on(host__cpus=1.0, host__container="docker")
    assert "--cpus=4" in commands(few_cpus, docker)
    pod = on(host__cpus=1.0, host__container="docker", host__kubernetes=True)
    assert "CPU limit in the resources" in commands(few_cpus, pod)
