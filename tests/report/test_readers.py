"""Each format as its own reader takes it, for every machine of tests/machines and for strings made to break it."""

import io
import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from junitparser import Failure, JUnitXml, Skipped
from prometheus_client.parser import text_string_to_metric_families
from sarif_pydantic import Sarif
from tap.parser import Parser as TapParser

from gpudoctor.report.model import Consequence, FindingEntry, FixEntry, Report, Summary, UnknownEntry
from gpudoctor.report.renderers import github, junit, nagios, npd, prometheus, sarif, tap
from gpudoctor.report.sanitize import document
from gpudoctor.report.test_cases import cases
from tests.report.machines import MACHINES, of_machine

NASTY = "a|b]]>&<c> \"d\" 'e' \\ # f % :: , \n\x1b[31m::error::g\x00 \u202e \ud800 ü\r\n1..9 not ok"
FINDING = FindingEntry(
    check="driver.library-mismatch",
    status="fail",
    subject=NASTY,
    title=NASTY,
    message=NASTY,
    cause=NASTY,
    evidence=(NASTY,),
    fixes=(FixEntry(NASTY, (NASTY,), "reboot", root=True, verify=NASTY),),
    consequences=(Consequence(check="pytorch.no-gpu", message=NASTY),),
    references=("https://docs.nvidia.com/", NASTY),
)
HOSTILE = Report(
    version=NASTY,
    status="fail",
    created="2026-11-21T03:00:00Z",
    summary=Summary(fail=2, unknown=1),
    findings=(FINDING, FINDING),
    unknown=(UnknownEntry(check="driver.cuda-error", subject=NASTY, reason=NASTY, essential=True),),
    next=(NASTY,),
)
EVERY = pytest.mark.parametrize("report", [*MACHINES, "strings made to break it", "nothing"], indirect=True)


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Report:
    """A report by its name."""
    own = {"strings made to break it": HOSTILE, "nothing": Report()}
    return own.get(request.param) or of_machine(request.param)


@EVERY
def test_junit(report: Report) -> None:
    text = junit.render(report)
    ElementTree.fromstring(text)
    (suite,) = JUnitXml.fromstring(text.encode())
    read = list(suite)
    failed = [case for case in read if any(isinstance(r, Failure) for r in case.result)]
    skipped = [case for case in read if any(isinstance(r, Skipped) for r in case.result)]
    assert len(failed) == suite.failures == sum(f.status in ("fail", "warn") for f in report.findings)
    assert len(skipped) == suite.skipped
    assert len(read) == suite.tests == len(cases(report))
    assert [case.name.split(" ")[0] for case in failed] == [f.check for f in report.findings if f.status != "advice"]


@EVERY
def test_sarif(report: Report) -> None:
    (run,) = Sarif.model_validate(json.loads(sarif.render(report))).runs
    results = run.results or []
    assert [result.rule_id for result in results] == [f.check for f in report.findings]
    rules = run.tool.driver.rules or []
    assert [rules[result.rule_index or 0].id for result in results] == [result.rule_id for result in results]
    for result in results:  # as GitHub's code scanning wants it
        (location,) = result.locations or []
        assert location.physical_location.artifact_location.uri.startswith("machine/")
    levels = [str(getattr(result.level, "value", result.level)) for result in results]
    assert levels == [sarif.LEVELS[f.status] for f in report.findings]


@EVERY
def test_prometheus(report: Report) -> None:
    families = list(text_string_to_metric_families(prometheus.render(report)))
    samples = [(s.name, tuple(sorted(s.labels.items()))) for family in families for s in family.samples]
    assert len(samples) == len(set(samples)), "a series stands twice"
    found = {s.labels["check"] for family in families for s in family.samples if s.name == "gpudoctor_finding"}
    assert found == {f.check for f in report.findings}
    (status,) = [f for f in families if f.name == "gpudoctor_status"]
    assert [s.labels["status"] for s in status.samples if s.value == 1] == [report.status]
    assert all(re.fullmatch(r"gpudoctor_[a-z_]+", family.name) and family.documentation for family in families)


@EVERY
def test_tap(report: Report) -> None:
    text = tap.render(report)
    lines = list(TapParser().parse(io.StringIO(text)))
    points = [line for line in lines if line.category == "test"]
    assert [line.category for line in lines if line.category not in ("test", "version", "plan", "diagnostic")] == []
    assert [p.number for p in points] == list(range(1, len(cases(report)) + 1))
    assert [not p.ok for p in points] == [bool(case.failure) for case in cases(report)]
    assert [bool(p.skip) for p in points] == [bool(case.skipped) for case in cases(report)]


@EVERY
def test_nagios(report: Report) -> None:
    first, *more = nagios.render(report).splitlines()
    words, bar, performance = first.partition(" | ")
    assert bar
    assert "|" not in words + performance + "".join(more)
    assert words.startswith(("GPU OK - ", "GPU WARNING - ", "GPU CRITICAL - ", "GPU UNKNOWN - "))
    for one in performance.split():  # 'label'=value[UOM];[warn];[crit];[min];[max]
        assert re.fullmatch(r"[a-z]+=[\d.]+s?(;[\d.]*){0,4}", one), one
    expected = {"pass": 0, "warn": 1, "fail": 2, "incomplete": 3, "no-gpu": 2 if report.failed else 3}
    assert nagios.exit_code(report) == expected[report.status]


def test_a_fault_of_ours_is_named() -> None:
    broken = UnknownEntry(check="a.b", subject="GPU 0", reason="NameError", broken=True)
    report = Report(unknown=(broken,))
    assert nagios.render(report).splitlines()[0].startswith("GPU UNKNOWN - a.b: NameError | ")
    assert npd.render(report) == "a.b: NameError\n"
    assert github.render(report) == "::notice title=a.b is unknown::NameError\n"


@EVERY
def test_npd(report: Report) -> None:
    text = npd.render(report)
    assert text.endswith("\n")
    assert text.count("\n") == 1
    assert 0 < len(text) - 1 < 80
    expected = {"pass": 0, "warn": 0, "fail": 1, "incomplete": 2, "no-gpu": 1 if report.failed else 2}
    assert npd.exit_code(report) == expected[report.status]
    assert npd.exit_code(report, "warn") == (1 if report.failed or report.summary.warn else npd.exit_code(report))


@EVERY
def test_github(report: Report) -> None:
    lines = github.render(report).splitlines()
    essential = sum(one.essential or one.broken for one in report.unknown)
    assert len(lines) == len(report.findings) + essential
    for line in lines:
        command = re.fullmatch(r"::(error|warning|notice) title=([^:,\r\n]*)::([^\r\n]*)", line)
        assert command, line
        assert not re.search(r"%(?!25|0A|0D|3A|2C)", command[2] + command[3])


def _words(report: Report) -> dict[str, Any]:
    """What a finding says, wherever it is said."""
    return {
        f.check: (
            f.message,
            *(fix.message for fix in f.fixes),
            *(ln for fix in f.fixes for c in fix.commands for ln in c.splitlines()),
        )
        for f in report.findings
    }


@pytest.mark.parametrize("name", MACHINES)
def test_each_format_for_people_says_what_to_type(name: str) -> None:
    report = of_machine(name)
    unfolded = {
        "junit": "".join(ElementTree.fromstring(junit.render(report)).itertext()),
        "sarif": "\n".join(r["message"]["text"] for r in json.loads(sarif.render(report))["runs"][0]["results"]),
        "github": github.render(report).replace("%0A", "\n").replace("%25", "%"),
    }
    for text in unfolded.values():
        for message in (one for words in _words(report).values() for one in words):
            assert message in text


def test_the_report_is_left_alone() -> None:
    before = document(HOSTILE)
    for module in (junit, sarif, prometheus, tap, nagios, npd, github):
        module.render(HOSTILE)
    assert document(HOSTILE) == before
