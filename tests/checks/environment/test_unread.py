"""Variables that a release no longer reads, and the PATH of a program that is started by its path."""

import pytest

from gpudoctor.checks.environment.ninja_not_on_path import ninja_not_on_path
from gpudoctor.checks.environment.variable_unread import variable_unread
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import change
from tests.checks.environments import commands, environment, one, package, severity, torch


def vllm(version: str, **variables: str) -> Facts:
    return change(environment(torch("2.11.0"), packages=(package("vllm", version),)), "host.environment", variables)


def test_a_variable_that_a_release_dropped() -> None:
    facts = vllm("0.26.0", VLLM_ATTENTION_BACKEND="TRITON_ATTN")
    expected = (
        "VLLM_ATTENTION_BACKEND=TRITON_ATTN has no effect: vllm 0.26.0 no longer reads it; it chooses the attention "
        "backend itself."
    )
    assert one(variable_unread, facts) == ("problem", expected)
    assert "--attention-backend TRITON_ATTN" in commands(variable_unread, facts)


@pytest.mark.parametrize(
    ("version", "variables"),
    [
        ("0.14.1", {"VLLM_ATTENTION_BACKEND": "FLASH_ATTN"}),
        ("0.26.0", {"VLLM_USE_V1": "1"}),  # what it does anyway
        ("0.26.0", {}),
    ],
)
def test_a_variable_that_is_read_or_changes_nothing(version: str, variables: dict[str, str]) -> None:
    assert one(variable_unread, vllm(version, **variables)) == ("pass", "")


@pytest.mark.parametrize(
    ("ninja", "own", "outcome"),
    [
        (None, "/opt/env/bin/ninja", "problem"),
        ("/usr/bin/ninja", "/opt/env/bin/ninja", "pass"),
        (None, None, "pass"),
        (Unknown("closed"), "/opt/env/bin/ninja", "unknown"),
    ],
)
def test_ninja_of_the_environment(ninja: object, own: object, outcome: str) -> None:
    facts = environment(torch("2.9.0"), packages=(package("flashinfer-python", "0.5.3"),))
    facts = change(change(facts, "pythons.0.ninja", ninja), "pythons.0.own_ninja", own)
    assert one(ninja_not_on_path, facts)[0] == outcome
    if outcome == "problem":
        assert "export PATH=/opt/env/bin:$PATH" in commands(ninja_not_on_path, facts)
    plain = change(change(environment(torch("2.9.0")), "pythons.0.ninja", ninja), "pythons.0.own_ninja", own)
    assert one(ninja_not_on_path, plain)[0] == "pass"


def test_a_unit_of_systemd_makes_it_certain() -> None:
    facts = environment(torch("2.9.0"), packages=(package("flashinfer-python", "0.5.3"),))
    for field, value in (("ninja", "/opt/env/bin/ninja"), ("own_ninja", "/opt/env/bin/ninja")):
        facts = change(facts, f"pythons.0.{field}", value)
    assert one(ninja_not_on_path, facts) == ("pass", "")
    started = change(facts, "pythons.0.units_without_ninja", ("vllm.service",))
    assert "is not on PATH of vllm.service: its builds fail" in one(ninja_not_on_path, started)[1]
    assert severity(ninja_not_on_path, started) == "warn"
