"""The detection matrix: a real worker with one planted fault, and the finding that a person reads first."""

import os
from pathlib import Path

import msgspec
import pytest

from gpudoctor.facts import Facts
from gpudoctor.machine import Machine
from gpudoctor.pipeline import judged
from gpudoctor.root_causes import findings
from gpudoctor.smoketests import job as job_module
from gpudoctor.smoketests.digits import shipped
from gpudoctor.smoketests.options import SmokeOptions
from gpudoctor.smoketests.plan import plan
from gpudoctor.smoketests.run import run
from tests.builders import plain_host

ILL = str(Path(__file__).parent / "faulty_worker.py")


def measured(fault: str, *tests: str) -> Facts:
    """The facts of a machine whose worker has this fault."""
    machine, facts = Machine(env={**os.environ, "FAULT": fault}, seconds=250), plain_host()
    events = run(machine, facts, plan(facts, SmokeOptions(tests=tests, backends=("cpu",))), shipped(), ILL)
    while True:
        try:
            next(events)
        except StopIteration as end:
            return msgspec.structs.replace(facts, smoke=end.value)


def found(facts: Facts) -> list[tuple[str, str]]:
    """Check and severity of each finding of the area smoke, in the order of the report."""
    listed, _ = findings(judged(facts))
    return [(f.root.check.id, f.severity.value) for f in listed if f.root.check.area == "smoke"]


@pytest.mark.parametrize(
    ("fault", "test", "wanted"),
    [
        ("product_bit", "matmul", "smoke.wrong-result"),
        ("image", "mnist", "smoke.wrong-training"),
        ("copy", "transfer", "smoke.corrupted-copy"),
        ("step", "mnist", "smoke.wrong-training"),
        ("memory", "bandwidth", "smoke.corrupted-memory"),
        ("segfault", "mnist", "smoke.crashes"),
        ("killed", "mnist", "smoke.crashes"),
        ("exits", "mnist", "smoke.fails"),
        ("full", "mnist", "smoke.out-of-memory"),
        ("assert", "mnist", "smoke.device-error"),
        ("other", "mnist", "smoke.fails"),
    ],
)
def test_every_planted_fault_is_the_first_finding(fault: str, test: str, wanted: str) -> None:
    assert found(measured(fault, test)) == [(wanted, "fail")]


@pytest.mark.parametrize("fault", ["sleeps", "deaf", "stopped", "spins"])
def test_a_worker_that_hangs_is_a_finding(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_module, "deadline", lambda stage, *_: 1.0 if stage == "mnist" else 60.0)
    assert found(measured(fault, "mnist")) == [("smoke.hangs", "fail")]


def test_tf32_where_float32_was_asked_for_is_told_by_name() -> None:
    facts = measured("tf32", "matmul")
    assert found(facts) == [("smoke.tf32-in-force", "warn")]
    (test,) = facts.smoke.runs[0].tests
    assert 1.5e-4 < (test.figure("error") or 0) < 1.5e-3


def test_a_framework_that_cannot_be_imported_is_told() -> None:
    assert found(measured("import", "mnist")) == [("smoke.import-fails", "fail")]


def test_a_clean_run_has_no_finding() -> None:
    facts = measured("", "matmul", "mnist", "transfer", "bandwidth", "inference")
    assert found(facts) == []
    assert [test.outcome for test in facts.smoke.runs[0].tests] == ["done"] * 5
