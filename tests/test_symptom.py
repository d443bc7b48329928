"""A message that somebody saw: it moves what explains it to the front, and never makes a finding."""

import re

import pytest

from gpudoctor import catalogue
from gpudoctor.knowledge.symptoms import recognise, symptoms
from gpudoctor.report.model import Consequence, FindingEntry, Report
from gpudoctor.symptom import attach


def finding(check: str, *consequences: str) -> FindingEntry:
    return FindingEntry(
        check=check,
        status="fail",
        subject="this machine",
        title=f"Title of {check}",
        says="S.",
        cause="C.",
        consequences=tuple(Consequence(check=c, says="S.") for c in consequences),
    )


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
    ("text", "first", "lines"),
    [
        (
            "Failed to initialize NVML: Driver/library version mismatch",
            "driver.library-mismatch",
            (
                "The message means: the loaded kernel module and the NVIDIA libraries are of different versions.",
                "What fits it here: Title of driver.library-mismatch.",
            ),
        ),
        (
            "RuntimeError: CUDA error 802: system not yet initialized",
            "fabric.not-ready",
            ("The message means: the NVLink fabric is not ready.", "What fits it here: Title of fabric.not-ready."),
        ),
        (
            "Torch not compiled with CUDA enabled",
            "host.shm-small",
            (
                "The message means: PyTorch is a CPU-only build.",
                "Nothing that was found here explains it: the cause may lie in the program, or be gone.",
                "What can cause it: `gpudoctor explain pytorch.cpu-build`.",
                "What can cause it: `gpudoctor explain device.no-gpu`.",
            ),
        ),
        ("segfault in my own code", "host.shm-small", ("The message is not one that gpudoctor knows.",)),
    ],
)
def test_the_explanation_comes_first(text: str, first: str, lines: tuple[str, ...]) -> None:
    report = attach(REPORT, text)
    assert report.findings[0].check == first
    assert report.next == (*lines, "Mend it.")


@pytest.mark.parametrize("text", ["", "x" * 100_000, "out of memory", "\x1b[31m", "(" * 1000])
def test_no_finding_comes_goes_or_changes(text: str) -> None:
    report = attach(REPORT, text)
    assert sorted(f.check for f in report.findings) == sorted(f.check for f in REPORT.findings)
    assert (report.status, report.summary) == (REPORT.status, REPORT.summary)
    assert attach(Report(), text).findings == ()


def test_a_consequence_explains_as_its_cause_does() -> None:
    report = Report(findings=(finding("host.a"), finding("driver.b", "pytorch.cpu-build")))
    assert attach(report, "Torch not compiled with CUDA enabled").findings[0].check == "driver.b"


def test_the_order_of_the_rest_stays() -> None:
    assert [f.check for f in attach(REPORT, "error 802: system not yet initialized").findings] == [
        "fabric.not-ready",
        "host.shm-small",
        "driver.library-mismatch",
    ]


def test_every_row_names_checks_that_are_there_and_ends_in_no_stop() -> None:
    ids = catalogue.ids()
    areas = {i.split(".")[0] for i in ids}
    for pattern, meaning, checks in symptoms().symptoms.rows:
        re.compile(pattern)
        assert not meaning.endswith(".")
        assert [c for c in checks if c not in ids and not (c.endswith(".*") and c[:-2] in areas)] == [], pattern


@pytest.mark.parametrize(
    "text",
    [
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
        "RuntimeError: Found no NVIDIA driver on your system.",
        "CUDA error: no kernel image is available for execution on the device",
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
        "docker: could not select device driver \"\" with capabilities: [[gpu]].",
        "RuntimeError: No CUDA GPUs are available",
        "fatal error: Python.h: No such file or directory",
        "ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory",
        "Could not find cuda drivers on your machine, GPU will not be used.",
    ],
)  # fmt: skip
def test_messages_that_people_paste_are_known(text: str) -> None:
    assert recognise(text)
    assert recognise(f"Traceback (most recent call last):\n  File x\n{text.upper()}\n")
