"""Smoke tests of GPUs that are well, with the rates that others have published of them, are found well."""

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Outcome, judge
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from gpudoctor.report.build import build
from tests.checks import smoke_machines as m
from tests.checks.nvidia_machines import having

CHECKS = catalogue.load()
SMOKE = [one for one in CHECKS if one.area == "smoke"]
UNKNOWN = Unknown("NVML: Not Supported")

HEALTHY = {
    "an H100": m.machine(m.H100),
    "an H200": m.machine(m.H200),
    "an A100": m.machine(m.A100),
    "a B200": m.machine(m.B200),
    "an RTX 5090": m.machine(m.RTX_5090),
    "an RTX PRO 6000": m.machine(m.RTX_PRO),
    "an RTX 4090": m.machine(m.RTX_4090),
    "a T4 at its power limit": m.machine(m.T4),
    "an MI300X": m.machine(m.MI300X),
    "an MI355X": m.machine(m.MI355X),
    "eight H100s": m.machine(m.H100, 8),
    "all backends": m.machine(m.H100, 1, ("pytorch", "tensorflow", "cupy", "jax")),
    "eight H100s and what is between them": m.between(),
    "a CPU": m.on_cpu(),
    "an H100 whose link the hypervisor hides": m.watched(
        m.machine(), lambda _: {"link_generation": None, "link_width": None}
    ),
    "an H100 whose clock nobody saw": m.watched(m.machine(), lambda _: {"sm_clock": UNKNOWN}),
    "a laptop": having(
        m.machine(m.RTX_4090._replace(name="NVIDIA GeForce RTX 4090 Laptop GPU", gib=16, link=(4, 8), copies=(12, 13))),
        host__platform="laptop",
    ),
    "a card in a slot of eight lanes": having(
        m.machine(m.RTX_4090._replace(link=(4, 8), copies=(12.4, 13.0))), gpus__0__link_width_max=8
    ),
}


@pytest.mark.parametrize("facts", HEALTHY.values(), ids=HEALTHY.keys())
def test_a_healthy_gpu_gives_no_finding(facts: Facts) -> None:
    verdicts = list(judge(facts, CHECKS))
    assert [(v.check.id, v.message) for v in verdicts if v.outcome is Outcome.BROKEN] == []
    assert [(v.check.id, v.message) for v in verdicts if v.outcome is Outcome.PROBLEM and v.check.area == "smoke"] == []
    report = build(facts, verdicts)
    assert [(f.check, f.message) for f in report.findings if f.status != "advice"] == []


@pytest.mark.parametrize("name", ["an H100", "an A100", "an H200"])
def test_of_a_well_known_gpu_every_question_is_answered(name: str) -> None:
    verdicts = [v for one in SMOKE for v in judge(HEALTHY[name], [one])]
    assert [(v.check.id, v.message) for v in verdicts if v.outcome is Outcome.UNKNOWN] == []
    asked = {v.check.id for v in verdicts if v.outcome is Outcome.PASS}
    between = {
        "corrupted-peer",
        "slow-peer",
        "wrong-sum",
        "slow-allreduce",
        "wrong-data-parallel",
        "slower-than-sisters",
    }
    assert {one.id for one in SMOKE} - asked == {f"smoke.{name}" for name in between}


def test_every_check_is_asked_of_eight_gpus() -> None:
    both = m.machine(m.H100, 8)
    runs = (*both.smoke.runs, *m.between().smoke.runs)
    facts = having(m.between(), gpus=both.gpus, smoke__runs=runs)
    outcomes = {v.check.id: v.outcome for v in judge(facts, SMOKE)}
    assert {id_ for id_, outcome in outcomes.items() if outcome is Outcome.SKIPPED} == set()
