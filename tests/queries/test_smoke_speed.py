"""When a speed may be judged, and by which lines."""

import pytest

from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown, UnknownFactError
from gpudoctor.queries.smoke import OnRun
from gpudoctor.queries.smoke.speed import (
    AMD,
    FP8,
    GDDR,
    HBM,
    TENSOR,
    UNKNOWN_MEMORY,
    UNMEASURED,
    UNMEASURED_FP32,
    SpeedThresholds,
    busy,
    idle,
    memory_lines,
    product_lines,
    share,
)
from tests.checks import smoke_machines as m
from tests.checks.nvidia_machines import having

NOT = Unknown("no")


@pytest.mark.parametrize(
    ("others", "utilization", "answer"),
    [
        (0, 0, False),
        (0, 10, False),
        (1, 0, True),
        (0, 11, True),
        (NOT, 95, True),
        (1, NOT, True),
        (NOT, 0, None),
        (0, NOT, None),
        (None, 0, False),
        (0, None, False),
        (None, None, None),
    ],
)
def test_busy(others: object, utilization: object, answer: bool | None) -> None:
    facts = m.of_run(m.machine(), others=others, utilization=utilization)
    assert busy(facts.smoke.runs[0]) is answer
    if answer is False:
        idle(facts, facts.smoke.runs[0])
    else:
        with pytest.raises(UnknownFactError):
            idle(facts, facts.smoke.runs[0])


def test_the_cpu_is_never_busy_by_a_gpus_measure() -> None:
    assert busy(m.on_cpu().smoke.runs[0]) is None


@pytest.mark.parametrize(
    ("facts", "dtype", "lines"),
    [
        (m.machine(m.H100), "bf16", TENSOR),
        (m.machine(m.H100), "fp8", FP8),
        (m.machine(m.H100), "fp32", UNMEASURED_FP32),
        (m.machine(m.RTX_4090), "bf16", UNMEASURED),
        (m.machine(m.MI300X), "bf16", AMD),
        (m.machine(m.MI300X), "fp8", None),
        (having(m.machine(m.H100), gpus__0__capability=NOT), "bf16", None),
        (m.on_cpu(), "fp32", None),
    ],
)
def test_lines_of_products(facts: Facts, dtype: str, lines: SpeedThresholds | None) -> None:
    assert product_lines(OnRun(facts, facts.smoke.runs[0]), dtype) == lines


@pytest.mark.parametrize(
    ("facts", "lines"),
    [
        (m.machine(m.H100), HBM),
        (m.machine(m.T4), GDDR),
        (m.machine(m.RTX_4090), UNKNOWN_MEMORY),
        (having(m.of_run(m.machine(), name=None), gpus__0__name=NOT), UNKNOWN_MEMORY),
    ],
)
def test_lines_of_memory(facts: Facts, lines: SpeedThresholds) -> None:
    assert memory_lines(OnRun(facts, facts.smoke.runs[0])) == lines


def test_a_loose_limit_asks_for_less() -> None:
    facts = m.watched(m.machine(), lambda _: {"sm_clock": NOT})
    run = facts.smoke.runs[0]
    (test,) = (t for t in run.tests if t.name == "matmul" and t.variant == "bf16")
    found = share(OnRun(facts, run), test, "rate")
    assert found is not None
    assert found.part == pytest.approx(798 / 989.4 / 0.8)
    assert found.words == "798 of 989 TFLOP/s (81%)"
    assert share(OnRun(facts, run), test, "nothing") is None
