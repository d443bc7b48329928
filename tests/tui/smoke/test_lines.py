"""The results in words: bars, outcomes, what a run comes to."""

import msgspec
import pytest

from gpudoctor.facts import SmokeTest
from gpudoctor.pipeline import check
from gpudoctor.report.model import SmokeEntry
from gpudoctor.report.smoke import smoke_entries
from gpudoctor.smoketests.options import SmokeOptions
from gpudoctor.smoketests.plan import plan
from gpudoctor.tui.smoke.lines import bar, ended, findings, outcomes, table, verdict
from gpudoctor.tui.smoke.words import planned
from tests.checks.smoke_machines import ill, machine, of_run, on_cpu

MISSED = tuple(SmokeTest(name=name, message="the run was stopped") for name in ("mnist", "transfer"))
STOPPED = of_run(
    machine(),
    outcome="stopped",
    message="the run was stopped",
    tests=(SmokeTest(name="matmul", variant="fp32", outcome="stopped", message="the run was stopped"), *MISSED),
)


def text(entry: SmokeEntry, width: int) -> list[str]:
    return ["".join(piece for piece, _ in line) for line in table(entry, width)]


def looks(entry: SmokeEntry) -> dict[str, str]:
    return {words.strip(): look for line in table(entry, 100) for words, look in line}


@pytest.mark.parametrize(
    ("share", "drawn"), [(0, "────"), (0.5, "━━──"), (0.6, "━━╸─"), (1, "━━━━"), (1.3, "━━━━"), (-0.1, "────")]
)
def test_a_bar_is_as_long_as_its_share(share: float, drawn: str) -> None:
    assert "".join(bar(share, 4)) == drawn


def test_a_row_a_figure_with_its_share_of_the_limit() -> None:
    (entry,) = smoke_entries(machine())
    rows = text(entry, 100)
    assert rows[0] == "PyTorch 2.9.1 on GPU 0 (NVIDIA H100 80GB HBM3)"
    assert any(row.startswith("  matmul bf16 ") and "━" in row and "  90% of 891, error 2e-03" in row for row in rows)


@pytest.mark.parametrize("width", [60, 78, 118, 198])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    (entry,) = smoke_entries(machine())
    assert max(map(len, text(entry, width))) <= width


def test_a_remark_stands_beneath_where_there_is_no_room_beside() -> None:
    (entry,) = smoke_entries(machine())
    rows = text(entry, 60)
    assert "      of 3,350, 3.4 times single kernels, compiled in 9.0 s" in rows


def test_what_is_not_done_says_so_in_words_and_what_was_not_reached_once() -> None:
    (entry,) = smoke_entries(STOPPED)
    rows = text(entry, 100)
    assert sum("not reached" in row for row in rows) == 1
    assert any("2 tests" in row and "mnist, transfer: the run was stopped" in row for row in rows)
    assert looks(entry)["stopped"] == "warn"
    (failed,) = smoke_entries(ill(machine(), "mnist", outcome="failed", message="CUDA error"))
    assert looks(failed)["failed"] == "fail"


def test_nothing_from_a_device_reaches_the_terminal_raw() -> None:
    (entry,) = smoke_entries(machine())
    entry = msgspec.structs.replace(entry, name="a\x1b[31mb", message="\x1b[2J")
    assert "\x1b" not in "".join(text(entry, 80))


def test_findings_are_those_of_the_smoke_tests_and_what_explains_them() -> None:
    facts = ill(machine(count=8), "transfer", at=3, figures={"h2d pinned": 12.0})
    assert [found.subject for found in findings(check(facts=facts))] == ["PyTorch on GPU 3"]
    assert findings(None) == ()


def test_what_was_proven_is_said_and_what_was_not() -> None:
    facts = machine()
    assert verdict(facts, check(facts=facts)) == [("9 tests passed, no problems found.", "pass")]
    cpu = msgspec.structs.replace(on_cpu(), smoke=msgspec.structs.replace(on_cpu().smoke, instead=True))
    (_, look), (message, other) = verdict(cpu, check(facts=cpu))
    assert (look, other) == ("pass", "warn")
    assert "so nothing is proven about a GPU" in message
    assert verdict(None, None) == []


def test_an_end_counts_what_came_out() -> None:
    assert ended(smoke_entries(STOPPED), True, 0) == "Stopped: 0 done, 1 stopped, 2 not reached."
    assert ended(smoke_entries(machine()), False, 1) == "Finished: 9 done, 1 finding."


@pytest.mark.parametrize(
    ("jobs", "wanted"),
    [
        ([[("matmul", "done"), ("matmul", "unsupported"), ("mnist", "unsupported")]], {"done": 1, "unsupported": 1}),
        ([[("matmul", "done"), ("matmul", "hung")], [("matmul", "done")]], {"failed": 1, "done": 1}),
        ([[("matmul", "done"), ("matmul", "stopped"), ("mnist", "not reached")]], {"stopped": 1, "not reached": 1}),
        ([[("a", "died"), ("b", "failed"), ("b", "not reached")], []], {"failed": 2}),
        ([], {}),
    ],
)
def test_each_test_of_a_job_counts_once(jobs: list[list[tuple[str, str]]], wanted: dict[str, int]) -> None:
    assert outcomes(jobs) == wanted


def test_as_many_tests_have_ended_as_were_planned() -> None:
    facts, choice = machine(count=2), SmokeOptions(tests=("matmul", "mnist", "allreduce"))
    jobs = [
        [(name, outcome) for name in job.tests for outcome in ("done", "unsupported")] for job in plan(facts, choice)
    ]
    assert planned(facts, choice).startswith(f"{sum(outcomes(jobs).values())} tests: ")
