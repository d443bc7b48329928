"""Machines on which the smoke tests ran: well ones with the rates that others have published, and one thing changed."""

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from gpudoctor.facts import During, Facts, Figure, Smoke, SmokeRun, SmokeTest
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.queries.smoke import called
from tests.builders import change, plain_host
from tests.checks import healthy_nvidia as nv
from tests.checks.amd_machines import RADEON, amd_host
from tests.checks.nvidia_machines import having

PYTHON = "/opt/env/bin/python"
DIGITS = "256 rendered digits"
UNSEEN = Unknown("no driver was asked")
ERROR = {"fp32": 3.4e-7, "tf32": 2.9e-4, "fp16": 2.1e-4, "bf16": 1.65e-3, "fp8": 1.7e-3}


class Model(NamedTuple):
    """A GPU as it was measured: TFLOP/s by data type, GB/s, its link, and clocks in MHz."""

    name: str
    capability: str
    gib: int
    processors: int
    clock: Maybe[float | None]
    most: int
    rates: dict[str, float]
    memory: float
    link: tuple[int, int]
    copies: tuple[float, float]  # to the device, to the host
    power: tuple[float, float] = (690.0, 700.0)  # drawn, limit
    ecc: bool | None = True
    reasons: tuple[str, ...] = ()


# Rates: stas00/ml-engineering (MAMF), gau-nernst/learn-cuda, RVS, DCGM, and an H100 and an H200 that were tried.
H100 = Model(
    "NVIDIA H100 80GB HBM3",
    "9.0",
    80,
    132,
    1700.0,
    1980,
    {"fp32": 51.0, "tf32": 372.0, "fp16": 770.0, "bf16": 798.0, "fp8": 1402.6},
    3000.0,
    (5, 16),
    (55.0, 54.6),
    reasons=("sw-power-cap",),
)
H200 = H100._replace(name="NVIDIA H200", gib=141, memory=4300.0, rates=H100.rates | {"bf16": 788.0, "fp8": 1453.4})
A100 = Model(
    "NVIDIA A100-SXM4-80GB",
    "8.0",
    80,
    108,
    1410.0,
    1410,
    {"fp32": 18.6, "tf32": 125.0, "fp16": 255.0, "bf16": 257.0},
    1564.0,
    (4, 16),
    (24.8, 26.0),
    (395.0, 400.0),
)
B200 = Model(
    "NVIDIA B200",
    "10.0",
    180,
    148,
    1750.0,
    1965,
    {"fp32": 49.3, "bf16": 1745.0, "fp16": 1740.0, "fp8": 3432.0},
    5715.0,
    (5, 16),
    (55.0, 55.0),
    (990.0, 1000.0),
)
RTX_5090 = Model(
    "NVIDIA GeForce RTX 5090",
    "12.0",
    32,
    170,
    2580.0,
    3090,
    {"fp32": 75.0, "tf32": 98.0, "fp16": 205.0, "bf16": 203.0},
    1600.0,
    (5, 16),
    (55.0, 56.5),
    (570.0, 575.0),
    ecc=None,
)
RTX_PRO = RTX_5090._replace(
    name="NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
    gib=96,
    processors=188,
    rates={"fp32": 80.0, "bf16": 432.0, "fp16": 432.0},
    memory=1530.0,
    power=(590.0, 600.0),
    ecc=True,
)
RTX_4090 = Model(
    "NVIDIA GeForce RTX 4090",
    "8.9",
    24,
    128,
    2520.0,
    3105,
    {"fp32": 55.0, "tf32": 75.0, "fp16": 147.0, "bf16": 145.0},
    920.0,
    (4, 16),
    (25.2, 26.3),
    (430.0, 450.0),
    ecc=None,
)
T4 = Model(
    "Tesla T4",
    "7.5",
    15,
    40,
    900.0,
    1590,
    {"fp32": 3.6, "fp16": 22.0},
    244.0,
    (3, 16),
    (12.0, 12.9),
    (69.6, 70.0),
    reasons=("sw-power-cap",),
)
MI300X = Model(
    "AMD Instinct MI300X",
    "gfx942",
    192,
    304,
    UNSEEN,
    2100,
    {"fp32": 100.0, "fp16": 639.0, "bf16": 668.4},
    4000.0,
    (5, 16),
    (55.0, 54.0),
    (740.0, 750.0),
)
MI355X = MI300X._replace(
    name="AMD Instinct MI355X", capability="gfx950", gib=288, processors=256, rates={"bf16": 1565.0}, memory=5600.0
)


def machine(model: Model = H100, count: int = 1, backends: tuple[str, ...] = ("pytorch",)) -> Facts:
    """A machine with so many equal GPUs, all tested with each backend."""
    facts = _amd(model) if model.capability.startswith("gfx") else _nvidia(model, count)
    runs = tuple(run(facts, model, backend, index) for backend in backends for index in range(count))
    return change(facts, "smoke", Smoke(seconds=9.0, digits=DIGITS, runs=runs))


def _nvidia(model: Model, count: int) -> Facts:
    link = dict(zip(("link_generation_max", "link_width_max"), model.link, strict=True))
    own: dict[str, Any] = {
        "name": model.name,
        "capability": model.capability,
        "memory": model.gib << 30,
        "memory_used": 0,
        "sm_clock_max": model.most,
        "power_limit": model.power[1],
        "power_default": model.power[1],
        "ecc": model.ecc,
        "ecc_pending": model.ecc,
        "persistence": True,
        "link_generation": 1,
        "link_width": 16,
    }
    return nv.several(count, changes=own | link)


def _amd(model: Model) -> Facts:
    gpu = msgspec.structs.replace(
        RADEON,
        name=model.name,
        gfx=model.capability,
        memory=model.gib << 30,
        sm_clock_max=model.most,
        power_limit=model.power[1],
        event_reasons=None,
        ecc=True,
        link_generation_max=model.link[0],
        link_width_max=model.link[1],
    )
    return amd_host((gpu,), archs=(model.capability,))


def run(facts: Facts, model: Model, backend: str = "pytorch", index: int = 0) -> SmokeRun:
    """All tests of a backend on one of the GPUs, as a healthy one answers."""
    assert isinstance(facts.gpus, tuple)
    rocm = model.capability.startswith("gfx")
    during = seen(model)
    return SmokeRun(
        backend=backend,
        kind="rocm" if rocm else "cuda",
        python=PYTHON,
        version="2.9.1",
        gpu=str(facts.gpus[index].address),
        label=f"GPU {index}",
        name=model.name,
        processors=model.processors,
        copy_engines=3,
        memory_free=model.gib << 30,
        others=0,
        utilization=0,
        stage="done",
        outcome="done",
        import_seconds=3.0,
        start_seconds=0.4,
        threads=16,
        tests=tuple(msgspec.structs.replace(test, during=during) for test in tests(model)),
    )


def seen(model: Model) -> During:
    """What the driver says while a healthy GPU works."""
    rocm = model.capability.startswith("gfx")
    return During(
        samples=20,
        sm_clock=model.clock,
        sm_clock_min=model.clock,
        memory_clock=2619.0,
        temperature=61.0,
        power=model.power[0],
        reasons=None if rocm else model.reasons,
        link_generation=model.link[0],
        link_width=model.link[1],
        ecc_corrected=0 if model.ecc else None,
        ecc_uncorrected=0 if model.ecc else None,
        pcie_replays=0,
        nvlink_replays=None if rocm else 0,
        nvlink_recoveries=None if rocm else 0,
        nvlink_crc=None if rocm else 0,
    )


def done(name: str, variant: str, figures: dict[str, float], **notes: Any) -> SmokeTest:
    """A test that was done."""
    reported = tuple(Figure(name=figure, value=value, unit="") for figure, value in figures.items())
    return SmokeTest(name=name, variant=variant, outcome="done", seconds=1.2, figures=reported, notes=notes)


def tests(model: Model) -> list[SmokeTest]:
    """The results of a healthy GPU."""
    there, back = model.copies
    half = "bf16" if "bf16" in model.rates else "fp16"
    copies = {"h2d pinned": there, "d2h pinned": back, "h2d pageable": 9.0, "d2h pageable": 8.0}
    beside = {"overlap": 0.97, "duplex": 1.6, "copy": 0.005, "compute": 0.005, "both": 0.0052}
    best = model.memory
    return [
        *(matmul(dtype, rate) for dtype, rate in model.rates.items()),
        done("mnist", "", STEP, **STEP_NOTES),
        done("transfer", "", copies, **TRANSFER),
        done("overlap", "", beside, wrong=0, engines=3, size=256 << 20),
        done("mixed-precision", half, mixed(half), not_finite=0, skipped=0),
        done("bandwidth", "", {"copy": best, "triad": 0.99 * best, "read": 0.98 * best}, wrong=0),
        done("inference", "fp32", {"error": 2e-6, "speed-up 1": 3.0, "speed-up 256": 40.0}),
        done("inference", half, {"error": 4e-3, "speed-up 1": 3.0, "speed-up 256": 60.0}),
        done("fused", "torch.compile", {"compile": 9.0, "error": 2e-7, "rate": 0.85 * best, "speed-up": 3.4}),
        stress(half, model.rates[half]),
    ]


def matmul(dtype: str, rate: float, **notes: Any) -> SmokeTest:
    """Products that are right."""
    plain: dict[str, Any] = {"checked": 2048, "not_finite": 0, "worst_row": 7, "worst_ratio": 2.4, "size": 8192}
    plain |= {"variation": 0.01, "not_repeated": 0, "part_error": ERROR[dtype]}
    return done("matmul", dtype, {"first call": 0.2, "error": ERROR[dtype], "rate": rate}, **(plain | notes))


STEP = {
    "loss error": 5e-9,
    "gradient error": 1.9e-6,
    "step error": 1e-5,
    "descent": 1.0002,
    "rate": 90000.0,
    "loss left": 0.23,
}
STEP_NOTES: dict[str, Any] = {
    "worst_gradient": "conv1.bias",
    "smallest_gradient_error": 1.3e-7,
    "loss": 2.83,
    "not_repeated": 0,
}
SPLIT = {"gradient error": 1.1e-6, "step error": 1e-5, "step on one": 0.002, "step on all": 0.0021, "scaling": 7.6}
SPLIT_NOTES: dict[str, Any] = {
    "transport": "nccl",
    "worst_gradient": "conv2.bias",
    "worst_rank": 0,
    "differing": 0,
    "differing_ranks": "",
    "other_weights": 0,
}
TRANSFER: dict[str, Any] = {
    "size": 256 << 20,
    "pinned": True,
    "differing": 0,
    "pieces_differing": 0,
    "pinned_refused": None,
    "affinity": None,
}


def mixed(half: str) -> dict[str, float]:
    """The figures of a right step in mixed precision."""
    error = {"bf16": 2.5e-2, "fp16": 3e-3}[half]
    return {"loss error": 1e-4, "gradient error": error, "difference": error, "scale": 1.0}


def stress(dtype: str, rate: float) -> SmokeTest:
    """Ten seconds at full load."""
    notes = {"wrong": 0, "not_finite": 0, "products": 7000, "buffers": 8, "seconds": 10.0, "size": 8192}
    return done("stress", "", {"error": ERROR[dtype], "rate": rate, "last third": 0.99}, dtype=dtype, **notes)


def between(count: int = 8, name: str = "peer", **changes: Any) -> Facts:
    """H100s with switches, and the tests between them."""
    facts = having(nv.hgx(nv.H100, 4), host__shm=nv.SHM)
    pairs = [done("peer", f"0-{n}", {"rate": 376.0}, can_access=True, differing=0) for n in range(1, count)]
    rates = {"time": 0.001, "bus rate": 380.0}
    found = [
        *pairs,
        done("allreduce", "", rates, ranks=count, transport="nccl", wrong=0, bytes=256 << 20),
        done("data-parallel", "", SPLIT, **(SPLIT_NOTES | {"ranks": count, "devices": " ".join("01234567"[:count])})),
    ]
    one = SmokeRun(backend="pytorch", kind="cuda", python=PYTHON, label="GPUs 0-7", outcome="done", tests=tuple(found))
    facts = change(facts, "smoke", Smoke(digits=DIGITS, runs=(one,)))
    return ill(facts, name, **changes) if changes else facts


def on_cpu() -> Facts:
    """A machine without a GPU, tested on its CPU."""
    found = (
        matmul("fp32", 0.05),
        done("mnist", "", STEP, **STEP_NOTES),
        done("transfer", "", {"copy": 9.0}, **(TRANSFER | {"pinned": None})),
        done("bandwidth", "", {"copy": 12.0, "triad": 9.0, "read": 8.0}, wrong=0),
        done("inference", "fp32", {"error": 3e-7, "cpu 1": 900.0, "cpu 256": 4000.0}),
    )
    one = SmokeRun(backend="cpu", kind="cpu", label="CPU", outcome="done", tests=found)
    return change(plain_host(), "smoke", Smoke(digits=DIGITS, runs=(one,)))


# -- one thing changed ---------------------------------------------------------------------------------------


def ill(facts: Facts, name: str, at: int = 0, **changes: Any) -> Facts:
    """The machine with some tests of a run changed.

    Args:
        facts: a machine.
        name: of the tests, as in "matmul bf16", or without its variant for all of the name.
        at: which run.
        changes: `figures`, `notes` and `during` are merged into the test's own; other fields replace it.
    """
    run_ = facts.smoke.runs[at]
    changed = tuple(_changed(t, changes) if name in (t.name, called(t)) else t for t in run_.tests)
    assert changed != run_.tests, f"nothing is called {name}, or nothing changed"
    return _with_run(facts, at, msgspec.structs.replace(run_, tests=changed))


def _changed(one: SmokeTest, changes: dict[str, Any]) -> SmokeTest:
    rest = dict(changes)
    numbers = {f.name: f for f in one.figures}
    numbers |= {n: Figure(name=n, value=v, unit="") for n, v in rest.pop("figures", {}).items()}
    figures = tuple(f for f in numbers.values() if f.value is not None)
    notes = one.notes | rest.pop("notes", {})
    during = msgspec.structs.replace(one.during, **rest.pop("during", {}))
    return msgspec.structs.replace(one, figures=figures, notes=notes, during=during, **rest)


def of_run(facts: Facts, at: int = 0, **changes: Any) -> Facts:
    """The machine with fields of a run changed."""
    return _with_run(facts, at, msgspec.structs.replace(facts.smoke.runs[at], **changes))


def _with_run(facts: Facts, at: int, run_: SmokeRun) -> Facts:
    return change(facts, f"smoke.runs.{at}", run_)


def watched(facts: Facts, edit: Callable[[SmokeTest], dict[str, Any]], at: int = 0) -> Facts:
    """The machine with what the driver said during each test of a run changed."""
    found = facts.smoke.runs[at].tests
    made = tuple(msgspec.structs.replace(t, during=msgspec.structs.replace(t.during, **edit(t))) for t in found)
    return of_run(facts, at, tests=made)


def only(facts: Facts, name: str, at: int = 0) -> Facts:
    """The machine with the tests of one name alone."""
    return of_run(facts, at, tests=tuple(t for t in facts.smoke.runs[at].tests if t.name == name))
