"""gres.conf has the GPUs of a node of Slurm, and slurm.conf does not give them to it."""

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.cluster.gpu_plugin_missing import gpu_plugin_missing
from gpudoctor.checks.cluster.gres_not_declared import gres_not_declared
from gpudoctor.facts import Cluster, Facts
from gpudoctor.facts.cluster import SlurmNode
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, nvidia_host, plain_host
from tests.checks.amd_machines import amd_host

WHY = Unknown("not to be seen")
PASS, UNKNOWN = [("pass", "")], [("unknown", "not to be seen")]


def of(facts: Facts, **changes: object) -> Facts:
    """A node of Slurm that has no Gres."""
    plain: dict[str, object] = {
        "gres_conf": "/etc/slurm/gres.conf",
        "autodetect": "nvidia",
        "gres_types": True,
        "gres": None,
    }
    return change(facts, "cluster", Cluster(slurm_node=SlurmNode(**(plain | changes))))  # type: ignore[arg-type]


def without(where: str = "this node's line in slurm.conf", count: int = 2, how: str = "has slurmd detect") -> object:
    message = (
        f"gres.conf {how} this node's GPUs, but {where} has no Gres=gpu: Slurm ignores the {count} GPUs of this node, "
        "and gives them to no job."
    )
    return [("problem", message)]


NO_TYPES = [
    (
        "problem",
        "gres.conf has slurmd detect this node's GPUs, but slurm.conf has no GresTypes=gpu: Slurm knows no GPUs, and "
        "refuses jobs that ask for them.",
    )
]


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (nvidia_host(), [("skipped", "")]),
        (of(nvidia_host(2)), without()),
        (of(nvidia_host(2), gres="nvme:1"), without()),
        (of(nvidia_host(2), gres="gpu:2"), PASS),
        (of(nvidia_host(2), gres="GPU:h100:2(S:0-1)"), PASS),
        (of(nvidia_host(2), gres=WHY), UNKNOWN),
        (of(nvidia_host(2), gres_types=WHY), UNKNOWN),
        (of(nvidia_host(2), autodetect=WHY), UNKNOWN),
        # Nothing says that Slurm is to offer GPUs.
        (of(nvidia_host(2), autodetect=None), PASS),
        (of(nvidia_host(2), autodetect=None, lists_gpus=True), without(how="lists")),
        (of(nvidia_host(2), autodetect=WHY, lists_gpus=True), without(how="lists")),
        (of(nvidia_host(2), dynamic=True), without("slurmd's --conf")),
        (of(amd_host(), autodetect="rsmi"), without(count=1)),
        (of(nvidia_host(2), gres_types=False), NO_TYPES),
        # One gres.conf for all nodes of the cluster: this one has other GPUs than it means, or none.
        (of(plain_host()), PASS),
        (of(amd_host(), autodetect="nvml"), PASS),
        (of(nvidia_host(2), autodetect="rsmi"), PASS),
        (of(amd_host(), autodetect=None, lists_gpus=True), PASS),
    ],
)
def test_what_slurm_gives(facts: Facts, verdict: object) -> None:
    assert ask(gres_not_declared, facts) == verdict


@pytest.mark.parametrize(
    ("facts", "wanted"),
    [
        (of(nvidia_host(2)), "add Gres=gpu:2 to this node's line"),
        (of(nvidia_host(2), dynamic=True), "Add Gres=gpu:2 to what --conf holds"),
        (of(nvidia_host(2), gres_types=False), "add the line GresTypes=gpu"),
        (change(of(nvidia_host(2)), "host.container", "kubernetes"), 'extraConfMap: {Gres: ["gpu:2"]}'),
        (
            change(of(nvidia_host(2), gres_types=False), "host.container", "kubernetes"),
            'extraConfMap: {GresTypes: "gpu"}',
        ),
    ],
)
def test_where_it_is_written(facts: Facts, wanted: str) -> None:
    (fix,) = run(gres_not_declared, facts)[0].fixes
    assert any(wanted in command for command in fix.commands)


def test_a_slurm_without_gpus_needs_no_plugin() -> None:
    assert ask(gpu_plugin_missing, of(nvidia_host(2), autodetect="nvml", gres_types=False)) == PASS
