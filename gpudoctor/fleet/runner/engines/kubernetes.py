"""Kubernetes: a Job with one pod for each node, pinned to it and tried once; kubectl creates, watches and deletes them.

An Indexed Job would be one object, but its pods share one template and cannot be pinned each to a node of its own; a
DaemonSet starts its pods again when they end. A bare pod would do, but nobody would end it if this process were killed:
a Job has a deadline that Kubernetes keeps, and is deleted some time after its end. kubernetes_manifest.py says how its
pod sees the GPUs.

The pods are asked for every few seconds in one request, and each one's log is read when it has ended: `kubectl logs -f`
would be a process of some 50 MB for each node. A node that is cordoned is asked: nothing is scheduled away from it, and
often it was cordoned to be looked at. One that is not ready is not asked.
"""

from collections.abc import Sequence
from threading import Event

from gpudoctor.fleet.runner.engine import EngineError, FleetTarget, NodeJob, Over, Tell
from gpudoctor.fleet.runner.engines.kubectl import Kubectl, KubectlError
from gpudoctor.fleet.runner.engines.kubernetes_manifest import manifest
from gpudoctor.fleet.runner.engines.kubernetes_objects import KubernetesNode, target
from gpudoctor.fleet.runner.engines.kubernetes_round import CREATE, KubernetesRound, RoundLimits, Wish, job_of
from gpudoctor.fleet.runner.engines.node_selection import named, without_gpus

__all__ = ("Kubernetes", "manifest")
_SELECTS = ("=", "!", " in ", " notin ", "(")


class Kubernetes:
    """The engine.

    Args:
        image: that holds the command; it is needed to run, not to list the nodes.
        context: of kubectl's configuration; empty: the current one.
        namespace: where the jobs are; it has to admit privileged pods, unless `exclusive`. Empty: the context's.
        kubeconfig: a file; empty: where kubectl looks.
        runtime_class: of nodes with NVIDIA's GPUs; None: "nvidia" where the cluster has it; empty: none.
        exclusive: each pod takes all GPUs of its node and waits for them, instead of looking at them next to others.
        patience: seconds in which a pod has to be scheduled.
    """

    name = "kubernetes"

    def __init__(
        self,
        image: str = "",
        context: str = "",
        namespace: str = "",
        kubeconfig: str = "",
        runtime_class: str | None = None,
        exclusive: bool = False,
        patience: float = 30.0,
    ) -> None:
        self._kubectl = Kubectl(context, namespace, kubeconfig)
        self._image, self._runtime_class, self._exclusive = image, runtime_class, exclusive
        self._limits = RoundLimits(unscheduled=patience)
        self._nodes: dict[str, KubernetesNode] = {}

    def targets(self, request: str) -> Sequence[FleetTarget]:
        """The nodes of the cluster with GPUs; a wish is a set of names, or a label selector (`node-type=gpu`).

        Raises:
            EngineError: there is no kubectl, Kubernetes does not respond, or the wish means nothing.
        """
        selects = any(sign in request for sign in _SELECTS)
        names = () if selects else named(request)
        self._nodes = self._ask(request if selects else "")
        known = {name: target(node) for name, node in self._nodes.items()}
        if selects:
            return list(known.values())
        if not request:
            return without_gpus(list(known.values()), [node.has_gpus for node in self._nodes.values()])
        none = "Kubernetes has no node with this name."
        return [known.get(name, FleetTarget(node=name, why_not=none)) for name in names]

    def run(self, targets: Sequence[FleetTarget], job: NodeJob, tell: Tell, stop: Event) -> None:
        """Start the command once on every target.

        Raises:
            EngineError: no image was given, there is no kubectl, or Kubernetes takes no job at all.
        """
        if not self._image:
            raise EngineError("Kubernetes needs a container image with gpudoctor.")
        if not self._nodes:
            self._nodes = self._ask("")
        asked = []
        for one in targets:
            if one.why_not or one.node not in self._nodes:
                tell(Over(one.node, "not asked", one.why_not or "Kubernetes has no node with this name."))
            else:
                asked.append(self._nodes[one.node])
        if asked and not stop.is_set():
            KubernetesRound(self._kubectl, asked, self._wish(job), self._limits, tell, stop).conduct()

    def shown(self, target: FleetTarget, job: NodeJob) -> str:
        """The kubectl and the Job of a node; RUN stands for the number of the run."""
        from gpudoctor.setup.exporters.common import yaml

        made = job_of(self._nodes[target.node], "gpudoctor-RUN-1", "gpudoctor-RUN", self._wish(job), self._limits)
        return "\n".join([f"{self._kubectl.line(*CREATE)} <<'END'", *yaml(made), "END"])

    def _ask(self, selector: str) -> dict[str, KubernetesNode]:
        words = ("nodes", *((f"--selector={selector}",) if selector else ()))
        try:
            found = self._kubectl.objects({"Node": KubernetesNode}, *words)
        except KubectlError as error:
            raise EngineError(f"Kubernetes does not list its nodes: {str(error).rstrip('.')}.") from None
        return {node.name: node for node in found}

    def _wish(self, job: NodeJob) -> Wish:
        return Wish(job, self._image, self._class() if job.gpus else "", self._exclusive)

    def _class(self) -> str:
        if self._runtime_class is not None:
            return self._runtime_class
        try:
            found = self._kubectl.lines("get", "runtimeclasses.node.k8s.io", "--output=name")
        except KubectlError:  # who may not list them may still use them, if he says so
            return ""
        return "nvidia" if "runtimeclass.node.k8s.io/nvidia" in found else ""
