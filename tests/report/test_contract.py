"""The document keeps what programs were promised, on healthy machines, on sick ones, and where little is known."""

import json
from typing import Any

import jsonschema
import pytest

from gpudoctor import check
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from gpudoctor.report.renderers.json import render
from tests.builders import change, framework, live, nvidia_host, plain_host, with_framework
from tests.checks.amd_machines import amd_host
from tests.cli import gpudoctor
from tests.report.schema import REPORT

VALIDATOR = jsonschema.Draft202012Validator(REPORT)
WHEN = "2026-11-21T03:00:00Z"
REFUSED = live(0, available=False, error="CUDA error: no kernel image is available", devices=())

MACHINES: dict[str, tuple[Facts, str]] = {
    "NVIDIA, well": (with_framework(framework(live=live())), "pass"),
    "NVIDIA, not loaded": (change(nvidia_host(), "nvidia.kernel.loaded", None), "fail"),
    "NVIDIA, hangs": (change(nvidia_host(), "nvidia.nvml.hung", "init"), "fail"),
    "NVIDIA, and PyTorch refuses": (with_framework(framework(live=REFUSED)), "fail"),
    "NVIDIA, cuInit unknown": (change(nvidia_host(), "nvidia.cuda.code", Unknown("it was not asked")), "incomplete"),
    "AMD, well": (amd_host(), "pass"),
    "AMD, node closed": (change(amd_host(), "amd.kfd.0.error", "EACCES"), "fail"),
    "no GPU": (plain_host(), "no-gpu"),
    "a probe failed": (change(nvidia_host(), "failed", (("log", "the probe failed: KeyError: 1"),)), "incomplete"),
}


def document(facts: Facts) -> dict[str, Any]:
    given = change(change(facts, "created", WHEN), "version", "0.1.0")
    found: dict[str, Any] = json.loads(render(check(facts=given)))
    return found


@pytest.mark.parametrize("name", MACHINES)
def test_every_machine_keeps_the_contract(name: str) -> None:
    facts, status = MACHINES[name]
    report = document(facts)
    assert [error.message for error in VALIDATOR.iter_errors(report)] == []
    assert report["status"] == status
    shown = [finding["status"] for finding in report["findings"]]
    assert shown == sorted(shown, key=["fail", "warn", "advice"].index)
    counts = report["summary"]
    assert {s: counts[s] for s in ("fail", "warn", "advice")} == {s: shown.count(s) for s in ("fail", "warn", "advice")}
    assert counts["consequences"] == sum(len(finding["consequences"]) for finding in report["findings"])
    assert counts["unknown"] + counts["broken"] == len(report["unknown"])


def test_this_machine_keeps_it_too() -> None:
    ran = gpudoctor("check", "--quick", "--json")
    report = json.loads(ran.out)
    assert [error.message for error in VALIDATOR.iter_errors(report)] == []
    expected = {"pass": 0, "warn": 0, "fail": 1, "incomplete": 3, "no-gpu": 1 if report["summary"]["fail"] else 3}
    assert ran.code == expected[report["status"]]


def test_the_schema_refuses_what_it_should() -> None:
    jsonschema.Draft202012Validator.check_schema(REPORT)
    report = document(change(nvidia_host(), "nvidia.kernel.loaded", None))
    for broken in ({**report, "status": "ok"}, {**report, "more": 1}, {**report, "findings": [{}]}):
        assert not VALIDATOR.is_valid(broken)
    del report["next"]
    assert not VALIDATOR.is_valid(report)
