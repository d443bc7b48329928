"""A machine without a GPU is no pass in any form: asked for, it is a failure; else nobody can say anything of one."""

import json
import re

import pytest

from gpudoctor import check
from gpudoctor.cli import FAILED, INCOMPLETE
from gpudoctor.cli.output_options import ReportOutput, exit_code
from gpudoctor.facts import Facts, Smoke
from gpudoctor.pipeline import CheckOptions
from gpudoctor.report.formats import FORMATS
from gpudoctor.report.model import Report
from gpudoctor.report.renderers import nagios, npd, sarif, tap
from gpudoctor.report.renderers.html import render as page
from gpudoctor.report.renderers.text import render as text
from tests.builders import change, framework, host, library, live, nvidia_host, plain_host, with_framework
from tests.checks.container.test_container import bare, inside
from tests.checks.intel_machines import UHD

NO_DRIVER = live(0, error="Found no NVIDIA driver on your system.")
CHOSEN = framework(version="2.9.1+cu128", live=NO_DRIVER)
PYPI = framework(version="2.9.1", live=NO_DRIVER)
UNLISTED = change(nvidia_host(), "gpus", ())  # no driver library is there to list what the bus shows
DRIVER = (library("libcuda.so.1"),)

MACHINES = {
    "nothing asks": (plain_host(), "no-gpu", 3, ["device.no-gpu"]),
    "PyPI's torch": (with_framework(PYPI, plain_host()), "no-gpu", 3, ["device.no-gpu"]),
    "torch of the index cu128": (with_framework(CHOSEN, plain_host()), "no-gpu", 1, ["device.no-gpu"]),
    "the same in a container": (
        with_framework(CHOSEN, plain_host(host=host(container="docker"))),
        "no-gpu",
        1,
        ["device.no-gpu"],
    ),
    "a container whose host has a GPU, and nobody wants it": (
        inside(bare(UNLISTED)),
        "no-gpu",
        3,
        ["container.no-gpus-passed"],
    ),
    "a container that was started without the host's GPU": (
        inside(bare(with_framework(CHOSEN, UNLISTED))),
        "fail",
        1,
        ["container.no-gpus-passed"],
    ),
    "a pod with the image for GPUs that asked for none": (
        inside(bare(with_framework(CHOSEN, UNLISTED)), "kubernetes", NVIDIA_VISIBLE_DEVICES="void"),
        "fail",
        1,
        ["container.no-gpus-passed"],
    ),
    "NVIDIA's image on a CI runner": (
        inside(bare(plain_host()), NVIDIA_VISIBLE_DEVICES="all"),
        "no-gpu",
        1,
        ["device.no-gpu"],
    ),
    "a driver without a card": (
        change(plain_host(), "nvidia.cuda.libraries", DRIVER),
        "fail",
        1,
        ["device.none"],
    ),
    "Intel's GPU": (plain_host(pci=(UHD,)), "pass", 0, []),
    "NVIDIA's GPU": (nvidia_host(), "pass", 0, []),
}
WITHOUT = [name for name, one in MACHINES.items() if one[1] == "no-gpu"]


def reported(name: str) -> Report:
    return check(facts=MACHINES[name][0])


@pytest.mark.parametrize("name", MACHINES)
def test_the_verdict_the_exit_code_and_what_is_said_first(name: str) -> None:
    _, status, code, first = MACHINES[name]
    report = reported(name)
    assert report.status == status
    assert exit_code(report, ReportOutput("text", mask=False), "fail") == code
    assert [one.check for one in report.findings if one.status == "fail" or status == "no-gpu"] == first
    assert report.ok == (status == "pass")


@pytest.mark.parametrize("name", WITHOUT)
def test_no_form_calls_it_a_pass(name: str) -> None:
    report = reported(name)
    said = {form: one.render()(report) for form, one in FORMATS.items() if form not in ("text", "html")}
    said |= {"text": text(report, verbose=True), "html": page(report, MACHINES[name][0])}
    for form, words in said.items():
        body = re.sub(r"<style>.*?</style>", "", words, flags=re.DOTALL)
        if form == "prometheus":
            assert 'gpudoctor_status{status="no-gpu"} 1.0' in body
            assert 'gpudoctor_status{status="pass"} 0.0' in body
        elif form == "json":
            assert json.loads(body)["status"] == "no-gpu"
        else:
            assert not re.search(r"\b(PASS|OK|healthy|\d+ passed|checks passed)\b", body), form
    for form in ("text", "markdown", "html", "junit", "tap"):
        assert "NO GPU" in said[form] or report.failed, form
    assert text(report).count("NO GPU") == 1


@pytest.mark.parametrize("name", WITHOUT)
def test_monitors_and_test_readers_see_a_failure_or_that_nothing_is_known(name: str) -> None:
    report = reported(name)
    asked = MACHINES[name][2] == FAILED
    assert nagios.exit_code(report) == (2 if asked else 3)
    assert nagios.render(report).startswith("GPU CRITICAL - " if asked else "GPU UNKNOWN - NO GPU: ")
    assert npd.exit_code(report) == (1 if asked else 2)
    points = [line for line in tap.render(report).splitlines() if re.match(r"(not )?ok ", line)]
    assert all(
        line.startswith("not ok") or "# SKIP" in line for line in points if "device.no-gpu" in line or "NO GPU" in line
    )
    assert any(line.startswith("not ok") for line in points) == asked
    assert json.loads(sarif.render(report))["runs"][0]["properties"] == {"verdict": "no-gpu"}


@pytest.mark.parametrize("options", [CheckOptions(only=("host",)), CheckOptions(skip=("device.no-gpu",))])
def test_a_choice_of_checks_makes_no_pass_of_it(options: CheckOptions) -> None:
    report = check(facts=MACHINES["torch of the index cu128"][0], options=options)
    assert (report.status, report.failed) == ("no-gpu", False)
    assert exit_code(report, ReportOutput("text", mask=False), "fail") == INCOMPLETE
    assert exit_code(report, ReportOutput("text", mask=False), "never") == 0


@pytest.mark.parametrize(("facts", "status"), [(plain_host(), "no-gpu"), (plain_host(pci=(UHD,)), "incomplete")])
def test_smoke_tests_that_found_no_gpu_ran_none_and_say_so(facts: Facts, status: str) -> None:
    report = check(facts=change(facts, "smoke", Smoke(instead=True)), options=CheckOptions(area="smoke"))
    assert report.status == status
    assert report.next[0].startswith("No GPU that can run smoke tests was found, so none ran")
    assert exit_code(report, ReportOutput("text", mask=False), "fail") == INCOMPLETE
