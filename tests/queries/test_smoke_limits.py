"""What a device can reach at most, and where the number comes from."""

from typing import Any

import pytest

from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from gpudoctor.queries.smoke import called
from gpudoctor.queries.smoke.limits import Limit, limit, sheet, waves
from tests.checks import smoke_machines as m
from tests.checks.nvidia_machines import having

H100, T4, MI300X = m.machine(), m.machine(m.T4), m.machine(m.MI300X)
NOT = Unknown("no")
AT_CLOCK = "132 multiprocessors x 1700 MHz during the test x 4096 operations per clock in bf16"


def asked(facts: Facts, name: str, figure: str, by: Any = limit) -> Limit | None:
    """The limit of a figure of the first run's test of this name."""
    run = facts.smoke.runs[0]
    test = next(t for t in run.tests if called(t) == name)
    found: Limit | None = by(facts, run, test, figure)
    return found


def unseen(facts: Facts, **changes: object) -> Facts:
    return m.watched(facts, lambda _: changes or {"sm_clock": NOT})


@pytest.mark.parametrize(
    ("facts", "name", "figure", "value", "source"),
    [
        (
            H100,
            "matmul bf16",
            "rate",
            891.3,  # 132 x 1.7 GHz x 4096 x 15.5/16
            f"{AT_CLOCK}, of which 97% have work at this size.",
        ),
        (
            H100,
            "stress",
            "rate",
            891.3,
            f"{AT_CLOCK}, of which 97% have work at this size.",
        ),
        (
            m.machine(m.RTX_4090),
            "matmul bf16",
            "rate",
            165.2,
            "128 multiprocessors x 2520 MHz during the test x 512 operations per clock in bf16.",
        ),
        (unseen(H100), "matmul bf16", "rate", 989.4, "H100 80GB HBM3 data sheet: 989.4 TFLOP/s in bf16."),
        (MI300X, "matmul bf16", "rate", 1307.0, "MI300X data sheet: 1307 TFLOP/s in bf16."),
        (
            m.of_run(MI300X, processors=38),
            "matmul bf16",
            "rate",
            163.4,
            "MI300X data sheet: 1307 TFLOP/s in bf16, 38 of 304 multiprocessors.",
        ),
        (H100, "bandwidth", "triad", 3350.0, "H100 80GB HBM3 data sheet: 3350 GB/s."),
        (H100, "fused torch.compile", "rate", 3350.0, "H100 80GB HBM3 data sheet: 3350 GB/s."),
        (T4, "bandwidth", "copy", 300.8, "Tesla T4 data sheet: 320 GB/s, less a sixteenth for ECC."),
        (having(T4, gpus__0__ecc=False), "bandwidth", "copy", 320.0, "Tesla T4 data sheet: 320 GB/s."),
        (H100, "transfer", "h2d pinned", 63.0, "PCIe generation 5 x16 during the test: 63.0 GB/s in each direction."),
        (
            m.watched(H100, lambda _: {"link_generation": 4, "link_width": 8}),
            "transfer",
            "d2h pinned",
            15.75,
            "PCIe generation 4 x8 during the test: 15.8 GB/s in each direction.",
        ),
        (m.between(), "peer 0-1", "rate", 450.0, "18 NVLinks of 25 GB/s in each direction, through switches."),
        (m.between(), "allreduce", "bus rate", 450.0, "18 NVLinks of 25 GB/s in each direction, through switches."),
    ],
)
def test_limits(facts: Facts, name: str, figure: str, value: float, source: str) -> None:
    found = asked(facts, name, figure)
    assert found is not None
    assert found.value == pytest.approx(value, rel=1e-3)
    assert found.source == source
    assert found.sure
    assert found.unit == ("TFLOP/s" if name.startswith(("matmul", "stress")) else "GB/s")


@pytest.mark.parametrize(
    ("facts", "name", "figure"),
    [
        (H100, "matmul bf16", "error"),
        (H100, "mnist", "rate"),
        (H100, "transfer", "h2d pageable"),
        (m.on_cpu(), "matmul fp32", "rate"),
        (m.on_cpu(), "bandwidth", "copy"),
        (m.of_run(H100, backend="driver"), "matmul bf16", "rate"),
        (unseen(m.of_run(H100, mig=True, processors=None)), "matmul bf16", "rate"),
        (m.of_run(H100, mig=True), "bandwidth", "copy"),
        (m.of_run(H100, mig=True), "transfer", "h2d pinned"),
        (having(H100, host__platform="grace"), "transfer", "h2d pinned"),
        (unseen(H100, link_width=NOT), "transfer", "h2d pinned"),
        (unseen(H100, link_generation=9), "transfer", "h2d pinned"),
        (m.of_run(having(H100, gpus=()), name="NVIDIA Graphics Device"), "matmul bf16", "rate"),
        (having(m.between(), gpus__2__capability="8.0"), "peer 0-1", "rate"),
        (having(m.between(), gpus__2__nvlinks=(True,) * 17 + (False,)), "peer 0-1", "rate"),
    ],
)
def test_what_has_no_limit_or_none_that_is_known(facts: Facts, name: str, figure: str) -> None:
    assert asked(facts, name, figure) is None


def test_the_data_sheet_stands_beside_what_the_clock_allows() -> None:
    beside = asked(H100, "matmul bf16", "rate", sheet)
    assert beside is not None
    assert (beside.value, beside.loose) == (989.4, True)
    assert asked(H100, "matmul bf16", "error", sheet) is None
    assert asked(H100, "bandwidth", "copy", sheet) == asked(H100, "bandwidth", "copy")
    at_clock = asked(H100, "matmul bf16", "rate")
    assert at_clock is not None
    assert not at_clock.loose


@pytest.mark.parametrize(
    ("facts", "name", "figure"),
    [
        (m.watched(H100, lambda _: {"link_generation": 2}), "transfer", "h2d pinned"),
        (m.watched(H100, lambda _: {"link_width": 4}), "transfer", "h2d pinned"),
        (MI300X, "transfer", "h2d pinned"),
    ],
)
def test_on_some_limits_no_verdict_may_rest(facts: Facts, name: str, figure: str) -> None:
    found = asked(facts, name, figure)
    assert found is not None
    assert not found.sure


@pytest.mark.parametrize(
    ("size", "processors", "number"),
    [(8192, 132, 15.52), (4096, 132, 3.88), (2048, 132, 0.97), (0, 132, None), (None, 132, None), (1e9, 1, None)],
)
def test_waves(size: object, processors: int, number: float | None) -> None:
    test = m.matmul("bf16", 1.0, size=size)
    assert waves(processors, test) == (number if number is None else pytest.approx(number, abs=0.01))
