"""A drop-in for containerd of a newer version than its configuration."""

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.cluster.drop_in_too_new import drop_in_too_new
from gpudoctor.facts import Facts
from gpudoctor.facts.cluster import NewerDropIn
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, nvidia_host, plain_host
from tests.checks.cluster.test_cluster import node

WHY = Unknown("not to be seen")
PATH = "/etc/containerd/conf.d/99-nvidia.toml"


def of(release: object, facts: Facts | None = None) -> Facts:
    """A node whose configuration of version 2 imports a file of version 4."""
    found = NewerDropIn(path=PATH, version=4, containerd=release)  # type: ignore[arg-type]
    facts = change(node(facts or nvidia_host()), "cluster.newer_drop_in", found)
    return change(facts, "cluster.config_version", 2)


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        (node(nvidia_host()), "skipped"),
        (of("2.3.0"), "problem"),
        (of("2.3.4"), "problem"),
        (of("2.2.4"), "pass"),
        (of("2.3.5"), "pass"),
        (of("2.3.2", plain_host()), "pass"),
        (of(WHY), "unknown"),
    ],
)
def test_releases_that_refuse_it(facts: Facts, outcome: str) -> None:
    assert [verdict for verdict, _ in ask(drop_in_too_new, facts)] == [outcome]


def test_what_is_typed() -> None:
    (verdict,) = run(drop_in_too_new, of("2.3.2"))
    assert verdict.problem is not None
    assert verdict.problem.message == (
        f"{PATH} is of version 4, and /etc/containerd/config.toml, which imports it, is of version 2: containerd 2.3.2 "
        "refuses that and does not start."
    )
    alone, operator = verdict.fixes
    assert f"sudo mv {PATH} {PATH}.disabled" in alone.commands
    assert any("RUNTIME_CONFIG_SOURCE" in command for command in operator.commands)
    of_operator = change(of("2.3.2"), "containers.toolkit_path", "/usr/local/nvidia/toolkit/nvidia-ctk")
    assert run(drop_in_too_new, of_operator)[0].fixes[0] == operator
