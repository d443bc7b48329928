"""The driver's backend on a real GPU: what it computes is right, and what it copies arrives."""

import pytest

from gpudoctor.smoketests.worker_output import WorkerOutput
from tests.smoke.driver_kit import skip_without_gpu, worked

pytestmark = pytest.mark.gpu

TESTS = "matmul,mnist,transfer,overlap,bandwidth,inference,stress"
# No figure of an error may be above these, in the units of the test.
LIMITS = {
    ("matmul", "error"): 5e-6,
    ("mnist", "loss error"): 1e-5,
    ("mnist", "gradient error"): 1e-4,
    ("mnist", "step error"): 1e-4,
    ("inference", "error"): 1e-4,
}
# Notes that count what is wrong.
COUNTS = {
    "matmul": ("not_finite", "not_repeated"),
    "mnist": ("not_repeated",),
    "transfer": ("differing", "pieces_differing"),
    "overlap": ("wrong",),
    "bandwidth": ("wrong",),
    "stress": ("wrong", "not_finite"),
}


@pytest.fixture(scope="module")
def reported() -> WorkerOutput:
    skip_without_gpu()
    return worked(None, TESTS, {"seconds": 2})


def test_all_is_done(reported: WorkerOutput) -> None:
    assert [(test.name, test.outcome, test.message) for test in reported.tests] == [
        (name, "done", "") for name in TESTS.split(",")
    ]
    assert (reported.facts["outcome"], reported.facts["kind"]) == ("done", "cuda")
    assert reported.facts["processors"] > 0


def test_results_are_right_to_float32(reported: WorkerOutput) -> None:
    found = {(test.name, f.name): f.value for test in reported.tests for f in test.figures}
    assert {key: found[key] for key, limit in LIMITS.items() if not 0 < found[key] < limit} == {}


@pytest.mark.parametrize("name", COUNTS)
def test_nothing_is_lost_or_changes(reported: WorkerOutput, name: str) -> None:
    (test,) = [test for test in reported.tests if test.name == name]
    assert {note: test.notes[note] for note in COUNTS[name]} == dict.fromkeys(COUNTS[name], 0)


def test_pinned_memory_is_known_as_such(reported: WorkerOutput) -> None:
    (test,) = [test for test in reported.tests if test.name == "transfer"]
    assert test.notes["pinned"] is True or test.notes["pinned_refused"]


def test_the_device_computes_faster_than_it_would_on_one_processor(reported: WorkerOutput) -> None:
    """Any GPU since Maxwell has 0.5 TFLOP/s and more, and a product of 2048 x 2048 fills it."""
    (test,) = [test for test in reported.tests if test.name == "matmul"]
    assert (test.figure("rate") or 0) > 0.05
