"""What is made of a worker's lines."""

import json

import pytest

from gpudoctor.facts import SmokeTest
from gpudoctor.smoketests.worker_output import WorkerOutput


def line(**reported: object) -> str:
    return "gpudoctor:" + json.dumps(reported)


RESULT = {
    "name": "matmul",
    "variant": "fp32",
    "outcome": "done",
    "message": "",
    "error": None,
    "seconds": 1.5,
    "at": [10.0, 11.5],
    "timed": [[10.5, 11.0]],
    "figures": [{"name": "rate", "value": 51.2, "unit": "TFLOP/s", "samples": [51.0, 51.2], "method": "median"}],
    "notes": {"size": 8192},
}


def reported(*lines: str) -> WorkerOutput:
    found = WorkerOutput()
    for each in lines:
        found.line(each)
    return found


def test_a_run_is_what_its_lines_said() -> None:
    found = reported(
        line(stage="import", at=1.0),
        line(stage="start", at=2.5, import_seconds=1.5, version="2.13.0"),
        line(start_seconds=0.5, about={"kind": "cuda", "name": "NVIDIA H100 80GB HBM3", "processors": 132}),
        line(stage="matmul", variant="fp32", at=10.0),
        line(result=RESULT),
        line(outcome="done"),
        line(stage="done"),
    )
    run = found.run(backend="pytorch", kind="cuda", label="GPU 0")
    assert (run.version, run.import_seconds, run.start_seconds, run.processors) == ("2.13.0", 1.5, 0.5, 132)
    assert (run.name, run.outcome, run.stage) == ("NVIDIA H100 80GB HBM3", "done", "done")
    assert run.tests[0].figure("rate") == 51.2
    assert run.tests[0].notes == {"size": 8192}
    assert found.windows == [((10.0, 11.5), ((10.5, 11.0),))]


def test_the_stage_names_test_and_data_type() -> None:
    found = reported(line(stage="matmul", variant="bf16", at=3.0))
    assert found.run(backend="pytorch", kind="cuda").stage == "matmul bf16"


@pytest.mark.parametrize(
    "odd",
    [
        "a warning of the framework",
        "gpudoctor:{cut short",
        "gpudoctor:[1]",
        line(result={**RESULT, "figures": "many"}),
        line(result={**RESULT, "outcome": "splendid"}),
        line(result={**RESULT, "at": None}),
        line(result=7),
        line(progress="half"),
        line(progress=17),
    ],
)
def test_lines_that_are_none_are_passed_over(odd: str) -> None:
    found = reported(odd, line(result=dict(RESULT)))
    assert [test.name for test in found.tests] == ["matmul"]
    assert len(found.windows) == 1


def test_how_far_a_stage_is_begins_anew_with_each() -> None:
    found = reported(line(stage="stress", at=1.0))
    assert found.line(line(progress=0.25)) == "progress"
    assert found.done == 0.25
    assert found.line(line(stage="mnist", at=2.0)) == "stage"
    assert found.done == 0.0


def test_nonsense_about_the_device_leaves_the_results() -> None:
    found = reported(line(about={"processors": "many"}), line(result=dict(RESULT)))
    run = found.run(backend="pytorch", kind="cuda")
    assert run.outcome == "failed"
    assert run.message.startswith("its output is invalid: ")
    assert isinstance(run.tests[0], SmokeTest)
