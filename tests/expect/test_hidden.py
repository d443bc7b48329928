"""A report that leaves the machine has the same verdicts, and nothing in it that identifies anybody."""

import pytest

from gpudoctor.check_engine import Outcome, run
from gpudoctor.expect.loader import loads
from gpudoctor.expect.masking import hidden
from gpudoctor.facts import Facts
from gpudoctor.pipeline import CheckOptions, check
from gpudoctor.privacy.masks import Masks
from gpudoctor.report.formats import FORMATS
from gpudoctor.report.sanitize import document
from tests.builders import change
from tests.checks import healthy_nvidia as nv
from tests.expect import one
from tests.machines.registry import machines

NAMED = change(change(nv.hgx(nv.H100, 4), "host.hostname", "alpha-7"), "gpus.0.serial", "1650123000456")
NAMED = change(NAMED, "pythons.0.path", "/home/jane.doe/env/bin/python")
ENV = 'pythons."/home/jane.doe/env/bin/python"'
SECRETS = ("alpha-7", "1650123000456", "jane.doe", "9999")


def left(facts: Facts, text: str, name: str = "/home/jane.doe/e.toml") -> CheckOptions:
    return CheckOptions(expect=hidden(loads(text, name), facts, Masks(facts).text))


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (one("host.hostname", "is='alpha-7'"), "pass"),
        (one("host.hostname", "is='alpha-9999'"), "problem"),
        (one("host.hostname", "contains='alpha-7'", "matches='9999'"), "problem"),
        (one("gpus.0.serial", "is='1650123000456'"), "pass"),
        (one("gpus.0.serial", "is='9999'"), "problem"),
        (one(ENV + ".frameworks.torch.live.count", "is=8"), "pass"),
        (one(ENV + ".frameworks.torch.live.count", "is=9"), "problem"),
        (one('pythons."/home/jane.doe/none".version', "is='3'"), "problem"),
        (one("gpus", "count=9", "message='Ask on alpha-7.'", "fix='Ask in /home/jane.doe/README.'"), "problem"),
    ],
)  # fmt: skip
def test_the_true_verdict_in_masked_words(text: str, outcome: str) -> None:
    facts = Masks(NAMED).facts()
    (expected,) = left(NAMED, text).expect
    (verdict,) = run(expected.check(facts), facts)
    assert verdict.outcome.value == outcome
    report = document(check(None, left(NAMED, text), facts))
    assert not [secret for secret in SECRETS if secret in report]
    assert ("expect." in report) is (outcome != "pass")


def test_a_line_that_says_what_is_wrong_says_it_still() -> None:
    facts = change(NAMED, "gpus.3.link_width_max", 8)
    masked = Masks(facts).facts()
    (expected,) = left(facts, one("gpus.*.link_width_max", "at_least=16")).expect
    (verdict,) = run(expected.check(masked), masked)
    assert verdict.message == "gpus.*.link_width_max: expected at least 16, found 8 (GPU 3)."
    assert verdict.about.label.startswith("/home/user")
    assert verdict.about.label.endswith("/e.toml:1")


@pytest.mark.parametrize("machine", machines()[::9], ids=lambda machine: machine.name)
def test_outcomes_are_the_same_hidden_or_not(machine: object) -> None:
    facts = machine.make()  # type: ignore[attr-defined]
    text = "".join(
        one(path, operator)
        for path, operator in (
            ("gpus", "count=1"),
            ("gpus.*.name", "contains='NVIDIA'"),
            ("nvidia.kernel.loaded", "version='>=560'"),
            ("pythons.0.frameworks.torch.live.count", "at_least=1"),
            ("host.environment.CUDA_VISIBLE_DEVICES", "present=false"),
        )
    )
    masked = Masks(facts).facts()
    for plain, other in zip(loads(text, "e.toml"), left(facts, text).expect, strict=True):
        assert [v.outcome for v in run(plain.check(facts), facts)] == [
            v.outcome for v in run(other.check(masked), masked)
        ]


def test_a_fault_of_ours_is_a_check_that_is_broken() -> None:
    facts = change(NAMED, "gpus", 5)
    (expected,) = left(facts, one("gpus.*.name", "is='a'")).expect
    assert [v.outcome for v in run(expected.check(facts), facts)] == [Outcome.BROKEN]


@pytest.mark.parametrize("name", sorted(set(FORMATS) - {"html"}))
def test_every_format_has_them(name: str) -> None:
    facts = change(NAMED, "gpus.3.link_width_max", 8)
    report = check(None, CheckOptions(expect=loads(one("gpus.*.link_width_max", "at_least=16"), "site.toml")), facts)
    if name == "text":
        from gpudoctor.report.renderers.text import render

        assert "expect.gpus-link-width-max" in render(report, 80, False)
    else:
        text = FORMATS[name].render()(report)
        assert "site.toml:1" in text or name in ("nagios", "npd")
        assert "expect.gpus-link-width-max" in text
