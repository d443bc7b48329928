"""The Kubernetes engine with a kubectl that is played: every node ends as it should, and nothing is left behind."""

import json
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
import yaml

from gpudoctor.fleet.runner import protocol
from gpudoctor.fleet.runner.engine import EngineError, FleetTarget, NodeJob, NodeLine, Over
from gpudoctor.fleet.runner.engines import engine, kubectl
from gpudoctor.fleet.runner.engines.kubernetes import Kubernetes
from gpudoctor.fleet.runner.engines.kubernetes_round import RoundLimits
from tests.fleet.runner.engines import kubectl_played
from tests.fleet.runner.engines.pods import NEW, NO_PLACE, RUNNING, UNSCHEDULED, Status, ended, failed, node, waiting

JOB = NodeJob(("gpudoctor", "fleet", "node"), 60.0)
QUICK = RoundLimits(look=0.01, nodes=600, podless=0.3, unscheduled=60, starting=60, slack=1, silent=60, tidy=5)
IMAGE = "registry.example.com/gpudoctor:1"
NOT_READY = "Kubernetes reports it as not ready: Kubelet stopped posting node status."
REPORT = b'{"schema": "gpudoctor.report/1"}'
WELL = [None, NEW, waiting("ContainerCreating"), RUNNING, ended(0)]


def logs(name: str) -> str:
    return "\n".join(["a greeting", protocol.hello(name), *protocol.lines(name, REPORT), ""])


def without_numbers(text: str) -> str:
    return re.sub(r"gpudoctor-(RUN|[0-9a-f]{8})", "gpudoctor-N", text)


class Cluster:
    """What the played kubectl knows, and what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.message: dict[str, Any] = {"nodes": [], "pods": {}, "logs": {}}

    def add(self, name: str, *steps: Status | None, log: str = "", **how: Any) -> None:
        """Add a node, and how its pod goes on."""
        self.message["nodes"].append(node(name, **how))
        self.message["pods"][name] = steps
        self.message["logs"][name] = log

    def engine(self, image: str = IMAGE, limits: RoundLimits = QUICK, **options: Any) -> Kubernetes:
        """The engine that speaks to it."""
        (self.folder / "played.json").write_text(json.dumps(self.message))
        made = Kubernetes(image, **options)
        made._limits = limits
        return made

    def calls(self, word: str = "") -> list[dict[str, Any]]:
        """What kubectl was asked."""
        found = [json.loads(line) for line in (self.folder / "calls.jsonl").read_text().splitlines()]
        return [one for one in found if not word or one["words"][0] == word]

    def jobs(self) -> list[dict[str, Any]]:
        """The jobs that were to be created."""
        return [job for one in self.calls("create") for job in json.loads(one["given"])["items"]]

    def left(self) -> dict[str, Any]:
        """The jobs that are still there."""
        path = self.folder / "jobs.json"
        found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        return found


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    program = tmp_path / "bin" / "kubectl"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, "-I", str(kubectl_played.__file__)])} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("KUBECTL_PLAYED", str(tmp_path))
    return Cluster(tmp_path)


def ran(
    engine: Kubernetes, wanted: Sequence[FleetTarget] | None = None, job: NodeJob = JOB
) -> tuple[dict[str, tuple[str, str]], dict[str, list[str]]]:
    """How each node ended, and its lines."""
    reported: list[NodeLine | Over] = []
    targets = list(engine.targets("")) if wanted is None else wanted
    thread = Thread(target=engine.run, args=(targets, job, reported.append, Event()), daemon=True)
    thread.start()
    thread.join(120)
    assert not thread.is_alive(), "nothing hangs"
    overs = [one for one in reported if isinstance(one, Over)]
    assert len(overs) == len({one.node for one in overs}), "a node is told to be over once"
    lines: dict[str, list[str]] = {}
    for one in reported:
        if isinstance(one, NodeLine):
            lines.setdefault(one.node, []).append(one.text)
    return {one.node: (one.state, one.why) for one in overs}, lines


def test_the_nodes_of_the_cluster(cluster: Cluster) -> None:
    cluster.add("gpu-1", gpus=8)
    cluster.add("gpu-2", gpus=8, ready="Unknown")
    cluster.add("cpu-1", cordoned=True)
    one, two, three = cluster.engine().targets("")
    assert (one, three) == (FleetTarget(node="gpu-1", gpus=8), FleetTarget(node="cpu-1", gpus=0, plain=True))
    assert two.why_not == NOT_READY


def test_a_node_of_which_a_label_tells_has_gpus_though_it_offers_none(cluster: Cluster) -> None:
    cluster.add("gpu-1", gpus=8)
    cluster.add("gpu-2", **{"nvidia.com/gpu.present": "true"})
    cluster.add("gpu-3", **{"feature.node.kubernetes.io/pci-0302_10de.present": "true"})
    cluster.add("cpu-1")
    found = cluster.engine().targets("")
    assert [one.node for one in found if one.plain] == ["cpu-1"]
    assert not any(one.plain for one in cluster.engine().targets("kubernetes.io/os=linux"))


def test_a_wish_is_a_set_of_names_or_a_selector(cluster: Cluster) -> None:
    cluster.add("gpu-1", gpus=8, **{"nvidia.com/gpu.present": "true"})
    cluster.add("gpu-2", gpus=4)
    unknown = FleetTarget(node="gpu-7", why_not="Kubernetes has no node with this name.")
    two = FleetTarget(node="gpu-2", gpus=4)
    assert cluster.engine().targets("gpu-[2,7]") == [two, unknown]
    assert cluster.engine().targets("nvidia.com/gpu.present=true") == [FleetTarget(node="gpu-1", gpus=8)]
    with pytest.raises(EngineError, match="is not a node set"):
        cluster.engine().targets("gpu-[1-")


def test_a_node_that_logs_the_lines_of_its_report(cluster: Cluster) -> None:
    cluster.add("gpu-1", *WELL, log=logs("gpu-1"), gpus=8)
    overs, lines = ran(cluster.engine())
    assert overs == {"gpu-1": ("failed", "The command failed there with exit code 0: a greeting.")}, (
        "reports are counted elsewhere"
    )
    found = protocol.Assembler()
    assert protocol.Landed("gpu-1", REPORT) in [found.feed(line, "gpu-1") for line in lines["gpu-1"]]
    assert cluster.left() == {}
    (deleted, last) = cluster.calls("delete")
    assert deleted["words"] == ["delete", "jobs", cluster.jobs()[0]["metadata"]["name"]]
    assert last["options"]["cascade"] == "foreground", "at last, whatever is left, with its pods"


def test_every_node_ends_as_it_should(cluster: Cluster) -> None:
    pull = 'Back-off pulling image "registry.example.com/none:1"'
    cluster.add("well", *WELL[3:], log=logs("well"))  # not one look without a container: limits are short here
    cluster.add("image", NEW, waiting("ImagePullBackOff", pull))
    cluster.add("full", UNSCHEDULED)
    cluster.add("slow", RUNNING, log=protocol.hello("slow") + "\n")
    cluster.add("lost", NEW, RUNNING, None)
    cluster.add("shell", ended(127), log="sh: 1: gpudoctor: not found\n")
    cluster.add("stuck", waiting("ContainerCreating"))
    cluster.add("evicted", RUNNING, failed("Evicted", "The node was low on resource: memory."))
    cluster.add("down", ready="False")
    limits = QUICK._replace(unscheduled=1, starting=1)
    overs, lines = ran(cluster.engine(limits=limits), job=NodeJob(JOB.argv, 1.0))
    assert overs == {
        "well": ("failed", "The command failed there with exit code 0: a greeting."),
        "image": ("failed", f"Its container cannot be started: ImagePullBackOff: {pull}."),
        "full": ("not asked", f"Kubernetes cannot schedule the pod: {NO_PLACE}"),
        "slow": ("timed out", "It did not finish within 1 s."),
        "lost": ("unreachable", "Its pod was deleted during the run, by a user or with its node."),
        "shell": ("failed", "The command failed there with exit code 127: sh: 1: gpudoctor: not found."),
        "stuck": ("failed", "Its container did not start within 1 s: ContainerCreating."),
        "evicted": ("failed", "Its node evicted the pod: The node was low on resource: memory."),
        "down": (
            "not asked",
            "Kubernetes reports it as not ready: container runtime network not ready: cni plugin not initialized.",
        ),
    }
    assert lines["slow"] == [protocol.hello("slow")], "what one wrote before it was given up is kept"
    assert len(cluster.jobs()) == 8
    assert cluster.left() == {}


def test_a_node_that_goes_down_or_away_in_mid_run(cluster: Cluster) -> None:
    """Its pod is said to run for minutes."""
    cluster.add("down", RUNNING)
    cluster.add("gone", RUNNING)
    cluster.add("new", UNSCHEDULED, UNSCHEDULED, ended(0))
    cluster.message |= {"later": {"down": node("down", ready="Unknown")}, "gone": ["gone"]}
    overs, _ = ran(cluster.engine(limits=QUICK._replace(nodes=0)))
    assert overs == {
        "down": ("unreachable", f"It disappeared: {NOT_READY}"),
        "gone": ("unreachable", "It disappeared: The node is no longer part of the cluster."),
        "new": ("failed", "The command failed there with exit code 0."),
    }  # fmt: skip


def test_a_pod_that_kubernetes_puts_in_another_ones_place_is_not_followed(cluster: Cluster) -> None:
    cluster.add("a", RUNNING, {**RUNNING, "again": "-2"})
    overs, _ = ran(cluster.engine())
    assert overs["a"][0] == "unreachable"


def test_a_policy_that_forbids_the_pod_is_a_refusal(cluster: Cluster) -> None:
    message = 'Error creating: pods "%s-x" is forbidden: violates PodSecurity "restricted:latest": privileged'
    cluster.add("a", None)
    cluster.add("b", None)
    cluster.add("c", None)
    cluster.message["events"] = {
        "a": message.replace("%s", "gpudoctor"),
        "b": "Error creating: Internal error occurred",
    }
    overs, _ = ran(cluster.engine(limits=QUICK._replace(unscheduled=1)))
    assert overs["a"][0] == "refused"
    assert 'violates PodSecurity "restricted:latest"' in overs["a"][1]
    assert overs["b"] == ("failed", "Kubernetes created no pod: Error creating: Internal error occurred.")
    assert overs["c"] == ("not asked", "Kubernetes created no pod for the job.")


def test_a_job_that_is_not_taken_is_refused_alone(cluster: Cluster) -> None:
    cluster.add("a", *WELL)
    cluster.add("b", *WELL)
    cluster.message["refused"] = {"b": "is forbidden: exceeded quota: jobs"}
    overs, _ = ran(cluster.engine())
    message = 'error when creating "STDIN": jobs.batch "it" is forbidden: exceeded quota: jobs'
    assert overs["b"] == ("refused", f"Kubernetes rejected the job: Error from server (Forbidden): {message}.")
    assert overs["a"] == ("failed", "The command failed there with exit code 0.")


def test_where_no_job_is_taken_at_all_the_engine_cannot_be_used(cluster: Cluster) -> None:
    cluster.add("a", *WELL)
    cluster.message["fails"] = {"create": [-1, 'Error from server (NotFound): namespaces "gpu" not found']}
    made = cluster.engine()
    with pytest.raises(
        EngineError, match=r'^Kubernetes rejected the job: Error from server \(NotFound\): namespaces "gpu"'
    ):
        made.run(made.targets(""), JOB, lambda _: None, Event())


def test_no_more_jobs_than_the_fan_at_once(cluster: Cluster) -> None:
    for number in range(5):
        cluster.add(f"n{number}", NEW, ended(0))
    overs, _ = ran(cluster.engine(), job=NodeJob(JOB.argv, 60, fan=2))
    assert len(overs) == 5
    assert [len(json.loads(one["given"])["items"]) for one in cluster.calls("create")] == [2, 2, 1]


def test_an_api_server_that_is_away_for_a_while_costs_nothing(cluster: Cluster) -> None:
    cluster.add("a", *WELL)
    cluster.message["fails"] = {"get pods": [3, "The connection to the server 10.0.0.1:6443 was refused"]}
    assert ran(cluster.engine())[0]["a"][0] == "failed"


def test_an_api_server_that_stays_away_makes_all_unreachable(cluster: Cluster) -> None:
    cluster.add("a", *WELL)
    cluster.add("b", *WELL)
    cluster.message["fails"] = {"get pods": [-1, "Unable to connect to the server: EOF"]}
    why = "Kubernetes stopped responding: Unable to connect to the server: EOF."
    overs, _ = ran(cluster.engine(limits=QUICK._replace(silent=0.2)), job=NodeJob(JOB.argv, 60, fan=1))
    assert overs == {"a": ("unreachable", why), "b": ("not asked", why)}


def test_a_log_that_cannot_be_read_is_said(cluster: Cluster) -> None:
    message = "Error from server: Get https://10.0.0.7:10250/: i/o timeout"
    cluster.add("a", ended(1))
    cluster.message["fails"] = {"logs": [-1, message]}
    _, why = ran(cluster.engine())[0]["a"]
    assert why == f"The command failed there with exit code 1. Its log cannot be read: {message}."


def test_a_run_that_is_stopped_deletes_its_jobs(cluster: Cluster) -> None:
    cluster.add("a", RUNNING)
    cluster.add("b", RUNNING)
    made, stop, reported = cluster.engine(), Event(), list[NodeLine | Over]()
    targets = made.targets("")
    thread = Thread(target=made.run, args=(targets, NodeJob(JOB.argv, 60, fan=1), reported.append, stop), daemon=True)
    thread.start()
    while not cluster.calls("get")[2:]:
        pass
    stop.set()
    thread.join(60)
    assert not thread.is_alive()
    why = "The run was stopped before it responded."
    assert reported == [Over("a", "not asked", why), Over("b", "not asked", why)]
    assert cluster.left() == {}


def test_the_runtime_class_is_taken_where_the_cluster_has_it(cluster: Cluster) -> None:
    def classes() -> list[str]:
        ran(made)
        return [job["spec"]["template"]["spec"].get("runtimeClassName", "") for job in cluster.jobs()]

    cluster.add("gpu", *WELL, gpus=8)
    cluster.add("cpu", *WELL)
    made = cluster.engine()
    assert classes() == ["", ""]
    cluster.message["classes"] = ["kata", "nvidia"]
    made = cluster.engine()
    assert classes()[2:] == ["nvidia", ""], "and only where there are its GPUs"
    made = cluster.engine(runtime_class="nvidia-cdi")
    assert classes()[4:] == ["nvidia-cdi", ""]
    cluster.message["fails"] = {"get runtimeclasses": [-1, "Error from server (Forbidden): runtimeclasses"]}
    made = cluster.engine()
    assert classes()[6:] == ["", ""]


def test_kubectl_gets_the_cluster_and_the_namespace(cluster: Cluster) -> None:
    cluster.add("a")
    cluster.engine(context="blue", namespace="gpu", kubeconfig="/k").targets("")
    options = cluster.calls()[0]["options"]
    assert (options["context"], options["namespace"], options["kubeconfig"]) == ("blue", "gpu", "/k")
    assert options["request-timeout"] == "30s"


def test_what_keeps_kubernetes_from_being_asked_is_one_sentence(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = (
        "E1122 02:14:43.1 99 memcache.go:265] couldn't get\nThe connection to the server localhost:8080 was refused\n"
    )
    cluster.message["fails"] = {"get": [-1, noise]}
    message = r"^Kubernetes does not list its nodes: The connection to the server localhost:8080 was refused\.$"
    with pytest.raises(EngineError, match=message):
        cluster.engine().targets("")
    with pytest.raises(EngineError, match="needs a container image with gpudoctor"):
        cluster.engine(image="").run([], JOB, lambda _: None, Event())
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(EngineError, match=r"^kubectl cannot be started \(No such file or directory\): "):
        engine("kubernetes").targets("")


@pytest.mark.parametrize(
    ("text", "message"), [("{}[", "cannot be parsed"), ('{"items": [{"kind": "Node"}]}', "metadata")]
)
def test_what_is_no_list_is_said(text: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpudoctor.fleet.runner.engines.kubernetes_objects import KubernetesNode

    made = kubectl.Kubectl("", "", "")
    monkeypatch.setattr(made, "lines", lambda *words, **more: [text])
    with pytest.raises(kubectl.KubectlError, match=message):
        made.objects({"Node": KubernetesNode}, "nodes")


def test_what_it_shows_is_what_it_creates(cluster: Cluster) -> None:
    cluster.add("n1", *WELL, log=logs("n1"))
    engine = cluster.engine(namespace="gpus")
    targets = engine.targets("")
    first, *job, last = engine.shown(targets[0], JOB).splitlines()
    assert shlex.split(first)[:2] == ["kubectl", "--namespace=gpus"]
    assert shlex.split(first)[-5:-1] == ["create", "--filename=-", "--output=name", "--validate=false"]
    assert last == "END"
    assert not [one for one in cluster.calls() if one["words"][0] != "get"]
    engine.run(targets, JOB, lambda _: None, Event())
    (made,) = cluster.jobs()
    assert without_numbers(json.dumps(yaml.safe_load("\n".join(job)))) == without_numbers(json.dumps(made))
