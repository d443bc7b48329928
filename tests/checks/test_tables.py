"""A machine that is newer than the tables."""

from typing import Any

import pytest

from gpudoctor.checks.tables.too_old import too_old
from gpudoctor.knowledge.drivers import newest_branch
from gpudoctor.knowledge.newest import newest
from gpudoctor.knowledge.onnxruntime import release as onnxruntime_release
from gpudoctor.knowledge.tensorflow import newest as newest_tensorflow
from gpudoctor.knowledge.torch import release as torch_release
from gpudoctor.maybe import Unknown
from tests.builders import ask, framework, nvidia_host, plain_host, with_framework
from tests.checks.nvidia_machines import having

LAST = newest().framework["torch"]
MAJOR, MINOR = (int(part) for part in LAST.split(".")[:2])
LATER = f"{MAJOR}.{MINOR + 1}.0"
WHY = Unknown("no metadata")


def message(verdicts: list[tuple[str, str]]) -> str:
    (outcome, text), *_ = verdicts
    return text.partition("do not know ")[2] if outcome == "problem" else outcome


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (LAST, "pass"),
        (f"{MAJOR}.{MINOR}.9+cu130", "pass"),  # a later patch has what its release had
        (f"{LATER}+cu130", f"PyTorch {LATER}+cu130 (newest known: {LAST})."),
        (f"{LATER}.post1", f"PyTorch {LATER}.post1 (newest known: {LAST})."),
        (f"{LATER}.dev20260901+cu130", "pass"),
        (f"{LATER}rc1", "pass"),
        (f"{LATER[:-2]}.0a0+git1234abc", "pass"),
        (WHY, "pass"),
        ("unknown", "pass"),
    ],
)
def test_a_framework(version: Any, expected: str) -> None:
    assert message(ask(too_old, with_framework(framework(version=version)))) == expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (f"{newest_branch()}.10", "pass"),
        (
            f"{newest_branch() + 5}.10.04",
            f"NVIDIA driver {newest_branch() + 5}.10.04 (newest known branch: {newest_branch()}).",
        ),
        (None, "pass"),
        (WHY, "pass"),
    ],
)
def test_the_driver(version: Any, expected: str) -> None:
    facts = having(nvidia_host(), nvidia__kernel__loaded=version, nvidia__nvml__driver_version=version)
    assert message(ask(too_old, facts)) == expected


def test_without_anything() -> None:
    assert message(ask(too_old, plain_host())) == "pass"


def test_a_framework_in_two_environments_is_named_once() -> None:
    facts = with_framework(framework(version=LATER))
    twice = having(facts, pythons=facts.pythons * 2)
    assert message(ask(too_old, twice)).count(LATER) == 1


def test_the_tables_know_what_they_claim_to_know() -> None:
    known = newest().framework
    assert torch_release(known["torch"]) is not None
    assert known["tensorflow"].startswith(f"{newest_tensorflow().version}.")
    assert onnxruntime_release(known["onnxruntime"]) is not None
