"""The device plugin's pod, which was started by runc."""

import pytest

from gpudoctor.checks.cluster.plugin_without_runtime import plugin_without_runtime
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from gpudoctor.pipeline import check
from tests.builders import ask, change, nvidia_host, plain_host
from tests.checks.cluster.test_cluster import node
from tests.checks.environments import commands

BLIND = "E0506 17:45:45.421956 1 factory.go:112] Incompatible strategy detected auto"
FOUND = (
    "The device plugin on this node finds no GPU, although the runtime nvidia is configured: its pod was started "
    "without it."
)


def of(blind: object = BLIND, configured: object = True, facts: Facts | None = None) -> Facts:
    facts = change(node(facts or nvidia_host()), "cluster.plugin_blind", blind)
    return change(facts, "cluster.runtime_configured", configured)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (of(), ("problem", FOUND)),
        (of(blind=None), ("pass", "")),
        (of(configured=False), ("pass", "")),
        (of(configured=Unknown("closed")), ("unknown", "closed")),
        (of(blind=Unknown("closed")), ("unknown", "closed")),
        (of(facts=plain_host()), ("pass", "")),
    ],
)
def test_a_plugin_that_finds_no_gpu(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(plugin_without_runtime, facts) == [verdict]


def test_both_ways_are_offered_and_k3s_gets_the_class() -> None:
    typed = commands(plugin_without_runtime, of())
    assert typed.index("--set-as-default") < typed.index("kind: RuntimeClass")
    assert "--set-as-default" not in commands(plugin_without_runtime, change(of(), "cluster.own_runtime", "k3s"))


def test_a_refused_variable_is_the_cause() -> None:
    found = {one.check for one in check(facts=change(of(), "containers.envvar_unprivileged", False)).findings}
    assert "cluster.envvar-refused" in found
    assert "cluster.plugin-without-runtime" not in found
