"""What Kubernetes says of nodes and pods, and what becomes of it in the ledger."""

from typing import Any

import msgspec
import pytest

from gpudoctor.fleet.runner.engine import FleetTarget
from gpudoctor.fleet.runner.engines.kubernetes_objects import (
    LONGEST,
    KubernetesNode,
    Pod,
    PodStanding,
    standing,
    target,
)
from tests.fleet.runner.engines.pods import NEW, NO_PLACE, RUNNING, UNSCHEDULED, Status, ended, failed, node, waiting

PULL = 'Back-off pulling image "registry.example.com/none:1": ErrImagePull: not found'
NOT_STARTED = "Its container cannot be started"
SECRET = 'CreateContainerConfigError: secret "x" not found'
CNI = "container runtime network not ready: cni plugin not initialized"
STOPPED = "Kubelet stopped posting node status."


def read(one: dict[str, Any]) -> KubernetesNode:
    return msgspec.convert(one, KubernetesNode)


@pytest.mark.parametrize(
    ("one", "found"),
    [
        (node("a", gpus=8), FleetTarget(node="a", gpus=8)),
        (node("a", cordoned=True), FleetTarget(node="a", gpus=0)),
        (
            node("a", ready="False"),
            FleetTarget(node="a", why_not=f"Kubernetes reports it as not ready: {CNI}.", gpus=0),
        ),
        (
            node("a", ready="Unknown"),
            FleetTarget(node="a", why_not=f"Kubernetes reports it as not ready: {STOPPED}", gpus=0),
        ),
        (
            {"metadata": {"name": "new"}},
            FleetTarget(node="new", why_not="Kubernetes reports it as not ready.", gpus=0),
        ),
        (
            {"metadata": {"name": "a", "labels": {"kubernetes.io/os": "windows"}}, "status": node("a")["status"]},
            FleetTarget(node="a", why_not="It runs Windows, which this container does not support.", gpus=0),
        ),
    ],
)
def test_a_node_as_a_target(one: dict[str, Any], found: FleetTarget) -> None:
    """One that is cordoned can be asked: often it was cordoned to be looked at."""
    assert target(read(one)) == found


def test_gpus_are_those_that_the_node_offers() -> None:
    one = node("a")
    one["status"]["allocatable"] |= {"nvidia.com/gpu": "0", "amd.com/gpu": "4", "nvidia.com/mig-1g.5gb": "7"}
    assert read(one).gpus == {"amd.com/gpu": 4}


@pytest.mark.parametrize(
    ("status", "found"),
    [
        (NEW, PodStanding("unscheduled")),
        (UNSCHEDULED, PodStanding("unscheduled", why=NO_PLACE)),
        (waiting("ContainerCreating"), PodStanding("starting", why="ContainerCreating")),
        (RUNNING, PodStanding("running")),
        (
            waiting("ImagePullBackOff", PULL),
            PodStanding("over", "failed", f"{NOT_STARTED}: ImagePullBackOff: {PULL}."),
        ),
        (
            waiting("CreateContainerConfigError", 'secret "x"\n  not found'),
            PodStanding("over", "failed", f"{NOT_STARTED}: {SECRET}."),
        ),
        (
            waiting("InvalidImageName"),
            PodStanding("over", "failed", f"{NOT_STARTED}: InvalidImageName."),
        ),
        (ended(0), PodStanding("over", "failed", "The command failed there with exit code 0.", True)),
        (ended(3), PodStanding("over", "failed", "The command failed there with exit code 3.", True)),
        (ended(137, "OOMKilled"),
         PodStanding("over", "failed", "The command failed there with exit code 137 (OOMKilled).", True)),
        (
            ended(128, "StartError", 'exec: "gpudoctor": not found in $PATH'),
            PodStanding("over", "failed", f'{NOT_STARTED}: StartError: exec: "gpudoctor": not found in $PATH.'),
        ),
        (
            failed("DeadlineExceeded", "Pod was active on the node longer than the specified deadline"),
            PodStanding("over", "timed out", "Kubernetes terminated it: Pod was active on the node longer than the "
                     "specified deadline.", True),
        ),
        (failed("Evicted", "The node was low on resource: memory."),
         PodStanding("over", "failed", "Its node evicted the pod: The node was low on resource: memory.", True)),
        (failed("NodeShutdown", "Pod was rejected: node is shutting down"),
         PodStanding("over", "unreachable",
                     "Its node went down during the run: Pod was rejected: node is shutting down.")),
        (failed("UnexpectedAdmissionError", "Allocate failed"),
         PodStanding("over", "refused", "Its node rejected the pod: UnexpectedAdmissionError: Allocate failed.")),
        (failed("OutOfpods"), PodStanding("over", "refused", "Its node rejected the pod: OutOfpods.")),
        ({"phase": "Unknown"}, PodStanding("over", "unreachable", "Its node stopped responding.")),
    ],
)  # fmt: skip
def test_how_a_pod_stands(status: Status, found: PodStanding) -> None:
    assert standing(msgspec.convert({"metadata": {"name": "p"}, "status": status}, Pod)) == found


def test_words_without_end_are_cut() -> None:
    why = standing(msgspec.convert({"metadata": {"name": "p"}, "status": failed("x", "y" * 9000)}, Pod)).why
    assert LONGEST < len(why) < LONGEST + 100
    assert why.endswith("y...")
