"""The smoke tests' part of the report: what is listed, what is left open, what is not shown."""

from typing import Any

import jsonschema
import msgspec
import pytest

from gpudoctor.check_engine import Verdict
from gpudoctor.facts import Facts, Figure, Smoke, SmokeRun, SmokeTest
from gpudoctor.pipeline import judged
from gpudoctor.report.build import build
from gpudoctor.report.model import Report
from tests.builders import change, nvidia_host, plain_host
from tests.report.schema import REPORT

DONE = SmokeTest(
    name="transfer",
    outcome="done",
    seconds=0.5,
    figures=(Figure(name="copy", value=5.0, unit="GB/s", samples=(4.9, 5.0, 5.1), method="median"),),
    notes={"size": 1 << 25, "differing": 0, "pieces_differing": 0},
)
UNSUPPORTED = SmokeTest(name="peer", outcome="unsupported", message="There is one device.")


def smoked(*tests: SmokeTest, facts: Facts | None = None, instead: bool = False, **run: Any) -> Facts:
    plain: dict[str, Any] = {"backend": "cpu", "kind": "cpu", "python": "/p", "outcome": "done", "tests": tests}
    smoke = Smoke(seconds=1.0, digits="256 rendered digits", runs=(SmokeRun(**(plain | run)),), instead=instead)
    return msgspec.structs.replace(facts or plain_host(), smoke=smoke)


def report(facts: Facts, area: str = "smoke") -> Report:
    return build(facts, judged(facts), area=area)


def test_every_figure_is_listed_with_unit_samples_and_method() -> None:
    found = report(smoked(DONE))
    named = msgspec.structs.replace(found, version="0.1.0", created="2026-11-21T12:00:00Z")
    jsonschema.validate(msgspec.json.decode(msgspec.json.encode(named)), REPORT)
    (entry,) = found.smoke
    figure = entry.tests[0].figures[0]
    assert (figure.value, figure.unit, figure.samples, figure.method) == (5.0, "GB/s", (4.9, 5.0, 5.1), "median")
    assert entry.tests[0].notes["size"] == 1 << 25


@pytest.mark.parametrize(
    ("facts", "status", "whys"),
    [
        (smoked(DONE), "pass", []),
        (smoked(DONE, instead=True), "no-gpu", ["No GPU that can run the tests was found"]),
        (change(plain_host(), "smoke", Smoke(instead=True)), "no-gpu", ["No GPU that can run the tests was found"]),
        (smoked(UNSUPPORTED), "incomplete", ["None of the tests could run: There is one device."]),
        (smoked(DONE, UNSUPPORTED), "pass", []),
        (
            smoked(DONE, outcome="stopped", message="It was late."),
            "incomplete",
            ["Not all tests ran: It was late."],
        ),
        (smoked(outcome="stopped", message="late."), "incomplete", ["None of the tests could run: late."]),
        (
            smoked(outcome="unsupported", message="CuPy computes on GPUs only.", backend="cupy"),
            "incomplete",
            ["None of the tests could run: CuPy computes on GPUs only."],
        ),
    ],
)
def test_what_was_not_proven_is_no_pass(facts: Facts, status: str, whys: list[str]) -> None:
    found = report(facts)
    assert found.status == status
    assert len(found.unknown) == len(whys)
    assert all(entry.reason.startswith(why) for entry, why in zip(found.unknown, whys, strict=True))


@pytest.mark.parametrize("instead", [True, False])
def test_tests_on_the_cpu_make_no_whole_examination_a_pass(instead: bool) -> None:
    found = report(smoked(DONE, instead=instead), area="")
    assert (found.status, found.unknown) == ("no-gpu", ())
    assert "device.no-gpu" in [entry.check for entry in found.findings]


def test_only_what_concerns_the_tests_is_shown() -> None:
    found = report(smoked(DONE))
    assert found.findings == ()
    assert found.next[-1] == "`gpudoctor check` shows 1 finding that does not concern these tests."


@pytest.mark.parametrize(("tests", "instead"), [((DONE,), True), ((UNSUPPORTED,), False)])
def test_where_nothing_was_proven_the_reason_may_lie_elsewhere(tests: tuple[SmokeTest, ...], instead: bool) -> None:
    found = report(smoked(*tests, instead=instead))
    assert found.next[-1] == "`gpudoctor check` shows 1 finding that may explain this."


def test_an_early_end_has_no_reason_elsewhere() -> None:
    found = report(smoked(DONE, outcome="stopped", message="It was late."))
    assert found.next[-1] == "`gpudoctor check` shows 1 finding that does not concern these tests."


def test_a_cause_outside_is_shown_with_the_test_that_it_explains() -> None:
    facts = nvidia_host(nvidia=msgspec.structs.replace(nvidia_host().nvidia, cuda=_mismatch()))
    ill = smoked(
        facts=facts, outcome="unsupported", message="no driver", backend="driver", kind="cuda", gpu="0000:01:00.0"
    )
    found = report(ill)
    assert [f.check for f in found.findings if any(c.check == "smoke.no-device" for c in f.consequences)]
    assert not [f.check for f in found.findings if f.check.startswith("smoke.")]


def _mismatch() -> Any:
    return msgspec.structs.replace(
        nvidia_host().nvidia.cuda, code=803, name="CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", text="mismatch", devices=()
    )


def test_a_fault_of_a_test_that_breaks_is_no_pass() -> None:
    facts = smoked(msgspec.structs.replace(DONE, notes={"size": 1 << 25, "differing": 3, "pieces_differing": 0}))
    found = report(facts)
    assert [f.check for f in found.findings] == ["smoke.corrupted-copy"]
    assert found.next == (
        "Fix the first problem, then re-run `gpudoctor smoke`. For details: `gpudoctor explain smoke.corrupted-copy`",
        found.next[-1],
    )


def test_verdicts_of_other_areas_are_not_counted() -> None:
    facts = smoked(DONE)
    verdicts: list[Verdict] = judged(facts)
    found = build(facts, verdicts, area="smoke")
    mine = {v.check.id for v in verdicts if v.check.area == "smoke"}
    assert found.summary.passed + found.summary.skipped == len(mine)
