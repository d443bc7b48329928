"""A message that somebody saw: it moves what explains it to the front, and never makes a finding."""

import pytest

from gpudoctor.report.model import Consequence, FindingEntry, Report
from gpudoctor.report.renderers.text import render
from gpudoctor.symptoms import attach
from tests.symptoms.builders import finding

REPORT = Report(
    status="fail",
    findings=(
        finding("host.shm-small"),
        finding("driver.library-mismatch", "pytorch.no-gpu"),
        finding("fabric.not-ready"),
    ),
    next=("Mend it.",),
)


@pytest.mark.parametrize(
    ("text", "first", "meaning", "explained_by", "fix"),
    [
        (
            "Failed to initialize NVML: Driver/library version mismatch",
            "driver.library-mismatch",
            "the loaded kernel module and the NVIDIA libraries are of different versions",
            ("driver.library-mismatch",),
            "Reboot",
        ),
        (
            "RuntimeError: CUDA error 802: system not yet initialized",
            "fabric.not-ready",
            "the NVLink fabric is not ready",
            ("fabric.not-ready",),
            "fabric manager",
        ),
        (
            "Torch not compiled with CUDA enabled",
            "host.shm-small",
            "PyTorch is a CPU-only build",
            (),
            "Install PyTorch's CUDA build",
        ),
        (
            "Unable to register cuDNN factory",
            "host.shm-small",
            "two parts of XLA register the same plugin, and the first one is used",
            (),
            "",
        ),
        ("segfault in my own code", "host.shm-small", "this is an error that gpudoctor does not know", (), ""),
    ],
)
def test_the_explanation_comes_first(
    text: str, first: str, meaning: str, explained_by: tuple[str, ...], fix: str
) -> None:
    report = attach(REPORT, text)
    assert report.findings[0].check == first
    root = report.symptoms[0]
    assert (root.meaning, root.explained_by) == (meaning, explained_by)
    assert fix in (root.fixes[0].message if root.fixes else "")
    assert report.next == REPORT.next


@pytest.mark.parametrize("text", ["", "x" * 100_000, "out of memory", "\x1b[31m", "(" * 1000, "\ud800", "\0"])
def test_no_finding_comes_goes_or_changes(text: str) -> None:
    report = attach(REPORT, text)
    assert sorted(f.check for f in report.findings) == sorted(f.check for f in REPORT.findings)
    assert (report.status, report.summary) == (REPORT.status, REPORT.summary)
    assert attach(Report(), text).findings == ()


def test_the_finding_that_explains_is_shown_once() -> None:
    text = render(attach(REPORT, "CUDA error 802: system not yet initialized"))
    assert [line.split()[1] for line in text.splitlines() if line.startswith("id ")].count("fabric.not-ready") == 1
    assert text.count("\nid  ") == len(REPORT.findings)


def test_a_consequence_explains_as_its_cause_does() -> None:
    report = Report(findings=(finding("host.a"), finding("driver.b", "pytorch.cpu-build")))
    assert attach(report, "Torch not compiled with CUDA enabled").findings[0].check == "driver.b"


def test_the_order_of_the_rest_stays() -> None:
    assert [f.check for f in attach(REPORT, "error 802: system not yet initialized").findings] == [
        "fabric.not-ready",
        "host.shm-small",
        "driver.library-mismatch",
    ]


def test_an_advice_explains_only_what_names_it() -> None:
    found = FindingEntry(check="driver.b", status="advice", subject="", title="T", message="S.", cause="C.")
    assert not attach(Report(findings=(found,)), "No CUDA GPUs are available").symptoms[0].explained_by
    whole = Consequence(check="driver.c", message="S.")
    fails = FindingEntry(
        check="x.y", status="fail", subject="", title="T", message="S.", cause="C.", consequences=(whole,)
    )
    assert attach(Report(findings=(fails,)), "No CUDA GPUs are available").symptoms[0].explained_by == ("x.y",)
    none = FindingEntry(check="device.no-gpu", status="advice", subject="", title="T", message="S.", cause="C.")
    assert attach(Report(findings=(none,)), "No CUDA GPUs are available").symptoms[0].explained_by == ("device.no-gpu",)


def test_every_form_for_people_shows_the_message_and_what_helps() -> None:
    from gpudoctor.report.renderers import html, markdown, text

    report = attach(Report(), "Torch not compiled with CUDA enabled")
    for rendered in (text.render(report), markdown.render(report), html.render(report)):
        assert "PyTorch is a CPU-only build" in rendered
        assert "pip install" in rendered
