"""A data-parallel step that is wrong: what is reported, and which rank and fix it leads to."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Check, run
from gpudoctor.facts import Facts
from tests.builders import ask
from tests.checks import smoke_machines as m

CHECKS: dict[str, Check[Any]] = {one.id: one for one in catalogue.load() if one.area == "smoke"}
WRONG = CHECKS["smoke.wrong-data-parallel"]


def problem(message: str) -> list[tuple[str, str]]:
    return [("problem", message)]


def split(error: float, **notes: Any) -> Facts:
    """A data-parallel step over eight GPUs whose gradients are so far off."""
    return m.between(name="data-parallel", figures={"gradient error": error}, notes=notes)


SPLIT = "PyTorch on GPUs 0-7 trains wrongly over 8 ranks with nccl: "
OFF = SPLIT + "averaged gradients differ from those of one device by"
ROWS: list[tuple[Facts, list[tuple[str, str]]]] = [
    (m.between(), [("pass", "")]),
    (m.between(name="data-parallel", outcome="unsupported"), [("skipped", "")]),
    (split(3e-6), [("pass", "")]),
    (
        split(0.14, shares="1 1 1 0 1 1 1 1", unexplained=1e-6, worst_rank=5),
        problem(
            f"{OFF} 1.4e-01 (conv2.bias on rank 5 (GPU 5)); rounding "
            "explains at most 1e-04, and gradients count wrongly in the average: rank 3 (GPU 3) 0 times instead of "
            "once."
        ),
    ),
    (
        split(7.0, shares=" ".join("8" * 8), unexplained=1e-6),
        problem(
            f"{OFF} 7.0e+00 (conv2.bias on rank 0 (GPU 0)); rounding "
            "explains at most 1e-04, and the gradients of 8 ranks are summed, but not divided by 8."
        ),
    ),
    (
        split(0.3, shares="1 1 1 0.9 1 1 1 1", unexplained=0.2, devices=None),
        problem(
            f"{OFF} 3.0e-01 (conv2.bias on rank 0); rounding explains at "
            "most 1e-04, and no weighting of the ranks' own gradients explains it: data was corrupted on the way."
        ),
    ),
    (
        split(1e9),
        problem(f"{SPLIT}averaged gradients are not finite (conv2.bias on rank 0 (GPU 0))."),
    ),
    (
        split(1e-6, differing=512, differing_ranks="2 6"),
        problem(f"{SPLIT}after one step 512 weights of rank 2 (GPU 2) and rank 6 (GPU 6) differ from the rest."),
    ),
    (
        m.between(name="data-parallel", figures={"step error": 1.0}),
        problem(f"{SPLIT}the weight update does not match the averaged gradient: off by 1.0e+00."),
    ),
]


@pytest.mark.parametrize(("facts", "verdicts"), ROWS)
def test_what_is_reported(facts: Facts, verdicts: list[tuple[str, str]]) -> None:
    assert ask(WRONG, facts) == verdicts


@pytest.mark.parametrize(
    ("facts", "severity"),
    [
        (split(0.5), "fail"),
        (split(5e-4), "warn"),
        (split(5e-4, differing=1, differing_ranks="1"), "fail"),
    ],
)
def test_rounding_at_its_worst_is_a_warning(facts: Facts, severity: str) -> None:
    (verdict,) = run(WRONG, facts)
    assert verdict.severity.value == severity


def commands(check: str, facts: Facts) -> list[str]:
    """Those of all fixes, in their order."""
    (verdict,) = run(CHECKS[check], facts)
    return [command for fix in verdict.fixes for command in fix.commands]


def test_a_lost_gradient_leads_to_its_gpu_and_then_to_the_path() -> None:
    found = commands(WRONG.id, split(0.14, shares="1 1 1 0 1 1 1 1", unexplained=1e-6))
    assert found[0] == "gpudoctor smoke matmul mnist --device 3 --backend pytorch"
    again = "gpudoctor smoke data-parallel allreduce peer --backend pytorch --python /opt/env/bin/python"
    assert found[1:4] == [f"{name} {again}" for name in ("NCCL_P2P_DISABLE=1", "NCCL_SHM_DISABLE=1", "NCCL_DEBUG=INFO")]
    assert any("acsctl" in one for one in found)
    assert "export NCCL_P2P_DISABLE=1" in found


def test_where_all_are_wrong_no_gpu_is_suspect() -> None:
    assert "NCCL_P2P_DISABLE=1" in commands(WRONG.id, split(7.0, shares=" ".join("8" * 8), unexplained=0.0))[0]


def test_on_the_cpu_no_path_between_gpus_is_named() -> None:
    facts = m.of_run(split(0.5, shares="1 0", devices=None), kind="cpu", label="CPU")
    assert not any("NCCL" in one or "--device 1" in one for one in commands(WRONG.id, facts))


@pytest.mark.parametrize(("check", "outcome"), [("smoke.hangs", "hung"), ("smoke.fails", "failed")])
def test_ranks_that_hang_or_fail_lead_to_the_path_first(check: str, outcome: str) -> None:
    facts = m.between(
        name="data-parallel", outcome=outcome, message="rank 1 did not arrive", figures=dict.fromkeys(m.SPLIT)
    )
    (verdict,) = run(CHECKS[check], facts)
    assert "rank 1 did not arrive" in verdict.message
    assert verdict.fixes[0].commands[0].startswith("NCCL_P2P_DISABLE=1 gpudoctor smoke data-parallel ")
    assert not any("NCCL" in one for one in commands(check, m.of_run(facts, kind="cpu", label="CPU")))
