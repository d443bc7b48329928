"""Speeds: judged on a GPU that was idle, against a limit that is known, and never on the CPU."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Check, run
from gpudoctor.facts import Facts
from tests.builders import ask
from tests.checks import smoke_machines as m
from tests.checks.nvidia_machines import having

CHECKS: dict[str, Check[Any]] = {one.id: one for one in catalogue.load() if one.area == "smoke"}
H100, CPU, T4, RTX_4090, MI300X = m.machine(), m.on_cpu(), m.machine(m.T4), m.machine(m.RTX_4090), m.machine(m.MI300X)
ON = "PyTorch on GPU 0"
WELL, SKIPPED = [("pass", "")], [("skipped", "")]
BUSY = [("unknown", "other processes used the GPU before the tests, so speeds are not judged")]
NOT_KNOWN = [("unknown", "no driver was asked")]


def ill(name: str, facts: Facts = H100, **changes: Any) -> Facts:
    return m.ill(facts, name, **changes)


def problem(message: str) -> list[tuple[str, str]]:
    return [("problem", message)]


def unknown(why: str) -> list[tuple[str, str]]:
    return [("unknown", why)]


def busy(facts: Facts) -> Facts:
    return m.of_run(facts, others=1)


def rate(dtype: str, value: float, facts: Facts = H100) -> Facts:
    return ill(f"matmul {dtype}", facts, figures={"rate": value})


def copies(there: float, back: float, facts: Facts = H100) -> Facts:
    return ill("transfer", facts, figures={"h2d pinned": there, "d2h pinned": back})


def link(facts: Facts, generation: object, width: object) -> Facts:
    return m.watched(facts, lambda _: {"link_generation": generation, "link_width": width})


def memory(best: float, facts: Facts = H100) -> Facts:
    return ill("bandwidth", facts, figures={"copy": best, "triad": 0.9 * best, "read": 0.8 * best})


UNSEEN = m.watched(H100, lambda _: {"sm_clock": m.UNSEEN})
MIG = m.of_run(H100, mig=True, processors=16)
SMALL = ill("matmul", figures={"rate": 90.0}, notes={"size": 2048})
NO_NAME = having(m.of_run(H100, name=None), gpus__0__name="NVIDIA Graphics Device", gpus__0__capability="9.9")
WSL = having(ill("overlap", figures={"overlap": 0.1}), host__wsl=2)
FIRST = ill("matmul fp32", figures={"first call": 12.0})
NO_TENSOR_CORES = "runs matmul as if there were no tensor cores"
ROWS: list[tuple[str, Facts, list[tuple[str, str]]]] = [
    ("smoke.slow-matmul", H100, WELL),
    ("smoke.slow-matmul", CPU, SKIPPED),
    ("smoke.slow-matmul", rate("bf16", 585.0), WELL),
    ("smoke.slow-matmul", rate("bf16", 575.0), problem(f"{ON} has slow matmul: bf16 575 of 891 TFLOP/s (65%).")),
    ("smoke.slow-matmul", rate("fp8", 975.0), problem(f"{ON} has slow matmul: fp8 975 of 1783 TFLOP/s (55%).")),
    ("smoke.slow-matmul", rate("tf32", 210.0), WELL),  # nobody published what tf32 reaches: only what is far off counts
    ("smoke.slow-matmul", rate("tf32", 190.0), problem(f"{ON} has slow matmul: tf32 190 of 446 TFLOP/s (43%).")),
    ("smoke.slow-matmul", rate("fp32", 23.0), WELL),
    ("smoke.slow-matmul", rate("fp16", 17.0, T4), WELL),
    ("smoke.slow-matmul", rate("fp16", 16.0, T4), problem(f"{ON} has slow matmul: fp16 16 of 36 TFLOP/s (44%).")),
    (
        "smoke.slow-matmul",
        rate("bf16", 425.0, MI300X),
        unknown("no reference value for fp32 on this GPU has been published"),
    ),
    (
        "smoke.slow-matmul",
        rate("bf16", 410.0, MI300X),
        problem(f"{ON} has slow matmul: bf16 410 of 1307 TFLOP/s (31%)."),
    ),
    (
        "smoke.slow-matmul",
        m.only(rate("fp32", 1.0, MI300X), "matmul"),
        unknown("no reference value for fp32 on this GPU has been published"),
    ),
    ("smoke.slow-matmul", rate("bf16", 100.0, busy(H100)), BUSY),
    ("smoke.slow-matmul", rate("bf16", 100.0, m.of_run(H100, utilization=11)), BUSY),
    (
        "smoke.slow-matmul",
        rate("bf16", 100.0, m.of_run(H100, utilization=10)),
        problem(f"{ON} has slow matmul: bf16 100 of 891 TFLOP/s (11%)."),
    ),
    ("smoke.slow-matmul", m.of_run(rate("bf16", 100.0), others=m.UNSEEN), NOT_KNOWN),
    ("smoke.slow-matmul", rate("bf16", 540.0, UNSEEN), WELL),  # 0.65 of 0.8 of the data sheet
    (
        "smoke.slow-matmul",
        rate("bf16", 510.0, UNSEEN),
        problem(f"{ON} has slow matmul: bf16 510 of 989 TFLOP/s (52%)."),
    ),
    ("smoke.slow-matmul", SMALL, unknown("the fp32 matmul was too small to fill the GPU")),
    ("smoke.slow-matmul", NO_NAME, unknown("no limit is known for matmul fp32 on this device")),
    ("smoke.slow-matmul", m.of_run(rate("bf16", 5.0), backend="driver"), WELL),
    ("smoke.slow-matmul", rate("bf16", 96.7, MIG), WELL),
    ("smoke.tensor-cores-idle", H100, WELL),
    (
        "smoke.tensor-cores-idle",
        rate("bf16", 160.0),
        problem(f"{ON} {NO_TENSOR_CORES}: bf16 160 of 891 TFLOP/s (18%)."),
    ),
    ("smoke.tensor-cores-idle", rate("bf16", 190.0), WELL),
    ("smoke.tensor-cores-idle", rate("tf32", 1.0), WELL),
    ("smoke.tensor-cores-idle", rate("bf16", 160.0, busy(H100)), BUSY),
    ("smoke.tensor-cores-idle", CPU, SKIPPED),
    ("smoke.slow-first-call", H100, WELL),
    ("smoke.slow-first-call", FIRST, problem(f"The first matmul of {ON} took 12 s in fp32.")),
    ("smoke.slow-first-call", m.of_run(FIRST, backend="jax"), WELL),
    ("smoke.slow-first-call", ill("matmul", figures={"first call": None}), SKIPPED),
    ("smoke.slow-memory", H100, WELL),
    ("smoke.slow-memory", memory(2400.0), WELL),
    ("smoke.slow-memory", memory(2300.0), problem(f"{ON} reaches 2300 of 3350 GB/s (69%) of memory bandwidth.")),
    ("smoke.slow-memory", memory(200.0, T4), WELL),
    ("smoke.slow-memory", memory(190.0, T4), problem(f"{ON} reaches 190 of 301 GB/s (63%) of memory bandwidth.")),
    ("smoke.slow-memory", memory(520.0, RTX_4090), WELL),
    (
        "smoke.slow-memory",
        memory(500.0, RTX_4090),
        problem(f"{ON} reaches 500 of 1008 GB/s (50%) of memory bandwidth."),
    ),
    ("smoke.slow-memory", memory(300.0, busy(H100)), BUSY),
    ("smoke.slow-memory", memory(300.0, MIG), unknown("no limit is known for bandwidth on this device")),
    ("smoke.slow-memory", memory(300.0, NO_NAME), unknown("no limit is known for bandwidth on this device")),
    ("smoke.slow-memory", CPU, SKIPPED),
    ("smoke.slow-link", H100, WELL),
    ("smoke.slow-link", copies(48.0, 47.5), WELL),
    ("smoke.slow-link", copies(55.0, 46.0), problem(f"{ON} copies at 46 of 63 GB/s (73%) to the host.")),
    ("smoke.slow-link", copies(10.2, 10.2, T4), WELL),  # Azure's line for the third generation
    ("smoke.slow-link", copies(9.7, 10.2, T4), problem(f"{ON} copies at 9.7 of 16 GB/s (62%) to the GPU.")),
    ("smoke.slow-link", copies(12.0, 12.0, link(RTX_4090, 4, 8)), WELL),
    ("smoke.slow-link", link(H100, None, None), unknown("no limit is known for transfer on this device")),
    (
        "smoke.slow-link",
        link(copies(1.0, 1.0), 3, 4),
        unknown(
            "the limit is too uncertain for a verdict: PCIe generation 3 x4 during the test: 3.9 GB/s in each "
            "direction."
        ),
    ),
    ("smoke.slow-link", copies(10.0, 10.0, busy(H100)), BUSY),
    (
        "smoke.slow-link",
        having(copies(10.0, 10.0), host__platform="grace"),
        unknown("no limit is known for transfer on this device"),
    ),
    ("smoke.slow-link", CPU, SKIPPED),
    ("smoke.uneven-link", H100, WELL),
    ("smoke.uneven-link", copies(55.0, 47.0), WELL),
    (
        "smoke.uneven-link",
        copies(55.0, 46.0),
        problem(f"{ON} copies at 55.0 GB/s to the GPU but 46.0 GB/s to the host."),
    ),
    ("smoke.uneven-link", copies(55.0, 20.0, busy(H100)), BUSY),
    ("smoke.uneven-link", having(copies(55.0, 20.0), host__platform="grace"), WELL),
    ("smoke.uneven-link", CPU, SKIPPED),
    ("smoke.memory-not-pinned", H100, WELL),
    (
        "smoke.memory-not-pinned",
        ill("transfer", notes={"pinned": False}),
        problem(f"{ON} requested pinned memory, but the driver reports that it is not pinned."),
    ),
    ("smoke.memory-not-pinned", ill("transfer", notes={"pinned": None}), WELL),
    (
        "smoke.memory-not-pinned",
        ill("transfer", figures={"h2d pinned": None, "d2h pinned": None}, notes={"pinned_refused": "OS call failed."}),
        problem(f"{ON} got no pinned memory: OS call failed."),
    ),
    ("smoke.memory-not-pinned", CPU, SKIPPED),
    ("smoke.no-overlap", H100, WELL),
    ("smoke.no-overlap", ill("overlap", figures={"overlap": 0.8}), WELL),
    (
        "smoke.no-overlap",
        ill("overlap", figures={"overlap": 0.5}),
        problem(f"{ON} overlaps 50% of a copy with compute."),
    ),
    (
        "smoke.no-overlap",
        having(ill("overlap", busy(H100), figures={"overlap": 0.0}), host__environment={"CUDA_LAUNCH_BLOCKING": "1"}),
        problem(f"{ON} overlaps 0% of a copy with compute (CUDA_LAUNCH_BLOCKING=1)."),
    ),
    ("smoke.no-overlap", ill("overlap", busy(H100), figures={"overlap": 0.1}), BUSY),
    ("smoke.no-overlap", ill("overlap", figures={"overlap": 0.1}, notes={"engines": 0}), WELL),
    (
        "smoke.no-overlap",
        m.of_run(ill("overlap", figures={"overlap": 0.1}, notes={"engines": None}), copy_engines=None),
        unknown("it is unknown whether this GPU has a copy engine"),
    ),
    ("smoke.no-overlap", WSL, unknown("on WSL, Windows decides what runs at the same time")),
    ("smoke.slower-than-cpu", H100, WELL),
    (
        "smoke.slower-than-cpu",
        ill("inference fp32", figures={"speed-up 256": 0.4}),
        problem(f"{ON} classifies 256 digits more slowly than the CPU: 0.40 times its speed in fp32."),
    ),
    ("smoke.slower-than-cpu", ill("inference", figures={"speed-up 1": 0.2}), WELL),
    ("smoke.slower-than-cpu", ill("inference", busy(H100), figures={"speed-up 256": 0.4}), BUSY),
    ("smoke.slower-than-cpu", m.of_run(ill("inference", figures={"speed-up 256": 0.4}), backend="driver"), WELL),
    ("smoke.slower-than-cpu", CPU, SKIPPED),
    ("smoke.fused-not-faster", H100, WELL),
    (
        "smoke.fused-not-faster",
        ill("fused", figures={"speed-up": 1.1}),
        problem(f"{ON} gains little from compiled kernels: torch.compile 1.1 times the uncompiled speed."),
    ),
    ("smoke.fused-not-faster", ill("fused", busy(H100), figures={"speed-up": 1.1}), BUSY),
    ("smoke.heat-soak", H100, WELL),
    (
        "smoke.heat-soak",
        ill("stress", figures={"last third": 0.89}),
        problem(f"{ON}: the last third of the load ran at 89% of the first, at 61 degrees C."),
    ),
    ("smoke.heat-soak", ill("stress", busy(H100), figures={"last third": 0.5}), BUSY),
    ("smoke.heat-soak", ill("stress", figures={"last third": None}), SKIPPED),
    ("smoke.slow-allreduce", m.between(), WELL),
    (
        "smoke.slow-allreduce",
        m.between(name="allreduce", figures={"bus rate": 280.0}),
        problem("PyTorch on GPUs 0-7 has a slow all-reduce: 280 of 450 GB/s (62%) bus bandwidth."),
    ),
    (
        "smoke.slow-allreduce",
        m.between(name="allreduce", notes={"transport": "gloo"}),
        unknown("the all-reduce did not use the links between GPUs"),
    ),
    (  # where others left little memory, a short sum shows how sums begin, and not the links
        "smoke.slow-allreduce",
        m.between(name="allreduce", figures={"bus rate": 20.0}, notes={"bytes": 4 << 20}),
        unknown("the limit is too uncertain for a verdict: 18 NVLinks of 25 GB/s in each direction, through switches."),
    ),
    ("smoke.slow-allreduce", H100, SKIPPED),
    ("smoke.slow-peer", m.between(), WELL),
    (
        "smoke.slow-peer",
        m.between(name="peer 0-3", figures={"rate": 300.0}, notes={"can_access": False}),
        problem("PyTorch on GPUs 0-7 copies slowly between GPUs: 0 to 3: 300 of 450 GB/s (67%), not directly."),
    ),
    ("smoke.slow-peer", having(m.between(), gpus__2__utilization=50), BUSY),
    ("smoke.slow-peer", having(m.between(), gpus__2__processes=m.UNSEEN, gpus__2__utilization=m.UNSEEN), NOT_KNOWN),
    (
        "smoke.slow-peer",
        having(m.between(), gpus__0__fabric_state=None, gpus__1__nvlinks=None),
        WELL,
    ),
    ("smoke.slow-peer", H100, SKIPPED),
]


@pytest.mark.parametrize(("name", "facts", "verdicts"), ROWS, ids=[f"{n}-{i}" for i, (n, _, _) in enumerate(ROWS)])
def test_speeds(name: str, facts: Facts, verdicts: list[tuple[str, str]]) -> None:
    assert ask(CHECKS[name], facts) == verdicts


@pytest.mark.parametrize(
    ("name", "facts", "severity"),
    [
        ("smoke.slow-matmul", rate("bf16", 500.0), "warn"),
        ("smoke.slow-matmul", rate("bf16", 390.0), "fail"),
        ("smoke.slow-matmul", rate("fp16", 1.0, T4), "warn"),
        ("smoke.slow-memory", memory(2000.0), "warn"),
        ("smoke.slow-memory", memory(1600.0), "fail"),
        ("smoke.slow-memory", memory(10.0, RTX_4090), "warn"),
        ("smoke.slow-link", copies(40.0, 40.0), "warn"),
        ("smoke.slow-link", copies(30.0, 30.0), "fail"),
        ("smoke.slow-link", having(copies(30.0, 30.0), host__virtual="kvm"), "warn"),
        ("smoke.uneven-link", copies(55.0, 46.0), "advice"),
        ("smoke.uneven-link", copies(55.0, 20.0), "warn"),
        ("smoke.no-overlap", ill("overlap", figures={"overlap": 0.5}), "advice"),
        ("smoke.no-overlap", ill("overlap", figures={"overlap": 0.3}), "warn"),
        ("smoke.slow-peer", m.between(name="peer 0-3", figures={"rate": 300.0}), "warn"),
        ("smoke.slow-peer", m.between(name="peer 0-3", figures={"rate": 200.0}), "fail"),
        ("smoke.slow-allreduce", m.between(name="allreduce", figures={"bus rate": 100.0}), "fail"),
    ],
)
def test_how_bad_it_is(name: str, facts: Facts, severity: str) -> None:
    (verdict,) = run(CHECKS[name], facts)
    assert verdict.severity.value == severity


def eight(at: int, part: float, **changes: Any) -> Facts:
    """Eight H100s, of which one reaches a part of its speed in bf16."""
    return m.ill(m.of_run(m.machine(m.H100, 8), at, **changes), "matmul bf16", at, figures={"rate": part * 798.0})


def test_equals_are_the_measure_of_each_other() -> None:
    check = CHECKS["smoke.slower-than-sisters"]
    assert ask(check, eight(5, 0.93)) == [("pass", "")] * 8
    message = "PyTorch on GPU 5 is slower than on its peers: matmul bf16 at 90% of their speed."
    assert ask(check, eight(5, 0.90))[5] == ("problem", message)
    assert {outcome for outcome, _ in ask(check, eight(5, 0.90))} == {"problem", "pass"}
    assert ask(check, eight(5, 0.90, utilization=50))[5] == BUSY[0]
    assert ask(check, H100) == SKIPPED


def test_gpus_of_another_kind_or_another_backend_are_no_measure() -> None:
    check = CHECKS["smoke.slower-than-sisters"]
    assert ask(check, having(m.machine(m.H100, 2), gpus__1__name="NVIDIA H200")) == SKIPPED
    assert ask(check, m.machine(m.H100, 1, ("pytorch", "jax"))) == SKIPPED
    both = m.of_run(m.machine(m.H100, 2), 1, others=2)
    assert ask(check, both) == [
        ("unknown", "the peer GPUs were in use before the tests, or that is unknown"),
        *BUSY,
    ]


def test_what_is_said_of_a_link_names_the_memory_it_was_measured_with() -> None:
    facts = ill("transfer", copies(40.0, 40.0), notes={"affinity": "The container forbids it."})
    (verdict,) = run(CHECKS["smoke.slow-link"], facts)
    assert verdict.problem is not None
    assert verdict.problem.evidence == (
        "PCIe generation 5 x16 during the test: 63.0 GB/s in each direction.",
        "The container forbids it.",
    )
