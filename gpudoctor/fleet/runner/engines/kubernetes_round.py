"""One round over the nodes of a cluster: jobs are created, watched and deleted, so many at once, until each is over."""

import secrets
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import NamedTuple

import msgspec

from gpudoctor.fleet.runner import protocol
from gpudoctor.fleet.runner.engine import EngineError, NodeJob, NodeLine, Over, Tell
from gpudoctor.fleet.runner.engines import kubernetes_manifest as manifest
from gpudoctor.fleet.runner.engines.kubectl import Kubectl, KubectlError, complaints, last_words
from gpudoctor.fleet.runner.engines.kubernetes_objects import (
    KubernetesEvent,
    KubernetesNode,
    Pod,
    PodStanding,
    not_ready,
    standing,
)
from gpudoctor.lazy_regex import pattern

# Without validation, for which kubectl would fetch the whole schema each time; the tests hold jobs against it.
CREATE = ("create", "--filename=-", "--output=name", "--validate=false")
AT_ONCE = 8  # logs that are read at a time, each by a process
# Words of the API server where it will not: no permission, a policy, a quota.
_WILL_NOT = pattern(r"[Ff]orbidden|denied|Unauthorized|exceeded quota|violates PodSecurity")


class RoundLimits(NamedTuple):
    """Seconds.

    Attributes:
        look: between two looks at the pods.
        nodes: between two looks at the nodes.
        podless: after which it is asked why a job has no pod.
        unscheduled: that a pod may wait for its place.
        starting: that a pod may take from its place to its start; an image may have gigabytes.
        slack: past the command's own limit, before a pod is given up.
        silent: that Kubernetes may not answer.
        tidy: for the deletion at the end.
    """

    look: float = 2.0
    nodes: float = 10.0
    podless: float = 5.0
    unscheduled: float = 30.0
    starting: float = 300.0
    slack: float = 15.0
    silent: float = 120.0
    tidy: float = 15.0


class Wish(NamedTuple):
    """What is to run."""

    job: NodeJob
    image: str
    runtime_class: str
    exclusive: bool


def job_of(node: KubernetesNode, name: str, instance: str, request: Wish, limits: RoundLimits) -> dict[str, object]:
    """The Job of a node, which Kubernetes itself ends should nobody else."""
    whole = limits.unscheduled + limits.starting + request.job.seconds + limits.slack + limits.silent
    return manifest.job(
        name, instance, node, request.job.argv, image=request.image, seconds=whole,
        runtime_class=request.runtime_class, gpus=request.job.gpus, exclusive=request.exclusive,
    )  # fmt: skip


class _Asked:
    """A node whose job has been created."""

    def __init__(self, node: KubernetesNode, job: str) -> None:
        self.node, self.job = node, job
        self.pod = ""  # the name of the first one; there is no second
        self.stage, self.since, self.why = "podless", time.monotonic(), ""

    def enter(self, stage: str, why: str) -> None:
        """Take note of how it stands."""
        self.why = why
        if stage != self.stage:
            self.stage, self.since = stage, time.monotonic()

    @property
    def waited(self) -> float:
        """Seconds that it has been in its stage."""
        return time.monotonic() - self.since


class KubernetesRound:
    """One round.

    Args:
        kubectl: the way to the cluster.
        nodes: that are asked.
        request: what runs on each.
        limits: how long what may take.
        tell: told every line, and one end for each node.
        stop: set by the caller that wants it to end early.
    """

    def __init__(
        self,
        kubectl: Kubectl,
        nodes: Sequence[KubernetesNode],
        request: Wish,
        limits: RoundLimits,
        tell: Tell,
        stop: Event,
    ) -> None:
        self.instance = f"gpudoctor-{secrets.token_hex(4)}"
        self._tidy, self._kubectl = kubectl, kubectl.ending_with(stop.is_set)
        self._wish, self._limits, self._tell, self._stop = request, limits, tell, stop
        self._waiting = list(reversed(nodes))
        self._asked: list[_Asked] = []
        self._made = 0
        self._answered = self._looked = time.monotonic()

    def conduct(self) -> None:
        """Until every node is over, or somebody stops it; then nothing of it is left in the cluster.

        Raises:
            EngineError: Kubernetes takes no job at all.
        """
        try:
            while (self._waiting or self._asked) and not self._stop.is_set():
                self._fill()
                self._stop.wait(self._limits.look)
                self._look()
        finally:
            self._delete_all()
        why = "The run was stopped before it responded."
        for node in [*(one.node for one in self._asked), *self._waiting]:
            self._tell(Over(node.name, "not asked", why))

    def _fill(self) -> None:
        batch: list[_Asked] = []
        while self._waiting and len(self._asked) + len(batch) < max(1, self._wish.job.fan):
            self._made += 1
            batch.append(_Asked(self._waiting.pop(), f"{self.instance}-{self._made}"))
        if batch:
            self._create(batch)

    def _create(self, batch: Sequence[_Asked]) -> None:
        items = [job_of(one.node, one.job, self.instance, self._wish, self._limits) for one in batch]
        listed = {"apiVersion": "v1", "kind": "List", "items": items}
        ended = self._kubectl.call(*CREATE, stdin=msgspec.json.encode(listed))
        made = {line.rpartition("/")[2] for line in ended.out.splitlines()}
        said = complaints(ended.err.splitlines())
        if self._stop.is_set():
            self._asked += batch
            return
        if not made and self._made == len(batch):
            raise EngineError(f"Kubernetes rejected the job: {last_words(ended).rstrip('.')}.")
        for one in batch:
            self._asked.append(one)
            if one.job not in made:
                why = next((line for line in said if one.job in line), last_words(ended)).replace(one.job, "it")
                self._over([(one, _refusal("Kubernetes rejected the job", why))])

    def _look(self) -> None:
        """See how all stand; what is over is told and deleted."""
        if not self._asked or self._stop.is_set():
            return
        try:
            self._judge({pod.metadata.labels.get(manifest.JOB, ""): pod for pod in self._pods()})
            if any(one.stage == "podless" and one.waited > self._limits.podless for one in self._asked):
                self._ask_why()
            if time.monotonic() - self._looked > self._limits.nodes:
                self._look_at_nodes()
        except KubectlError as error:
            self._unanswered(str(error))
        else:
            self._answered = time.monotonic()
        self._over([(one, how) for one in self._asked if (how := self._late(one)) is not None])

    def _pods(self) -> list[Pod]:
        found = self._kubectl.objects({"Pod": Pod}, "pods", f"--selector={manifest.INSTANCE}={self.instance}")
        firsts = {one.job: one.pod for one in self._asked}
        return [
            pod for pod in found if firsts.get(pod.metadata.labels.get(manifest.JOB, "")) in ("", pod.metadata.name)
        ]

    def _judge(self, pods: dict[str, Pod]) -> None:
        over = []
        for one in self._asked:
            pod = pods.get(one.job)
            if pod is None and one.pod:
                over.append((one, _GONE))
            if pod is None:
                continue
            one.pod = pod.metadata.name
            how = standing(pod)
            one.enter(how.stage, how.why)
            if how.stage == "over":
                over.append((one, how))
        self._over(over)

    def _ask_why(self) -> None:
        """Ask why jobs have no pod: a policy or a quota forbids it, which only an event says."""
        events = self._kubectl.objects({"Event": KubernetesEvent}, "events", "--field-selector=type=Warning")
        why = {
            reported.involved_object.name: reported.message for reported in events if reported.reason == "FailedCreate"
        }
        podless = [one for one in self._asked if one.stage == "podless" and one.job in why]
        self._over([(one, _refusal("Kubernetes created no pod", _without(why[one.job], one.job))) for one in podless])

    def _look_at_nodes(self) -> None:
        """A node that is lost leaves its pods as they were, for minutes."""
        self._looked = time.monotonic()
        names = [one.node.name for one in self._asked if one.stage in ("starting", "running")]
        if not names:
            return
        found = {node.name: node for node in self._kubectl.objects({"Node": KubernetesNode}, "nodes", *names)}
        over = []
        for one in [one for one in self._asked if one.node.name in names]:
            node = found.get(one.node.name)
            why = not_ready(node) if node else "The node is no longer part of the cluster."
            if why:
                over.append((one, PodStanding("over", "unreachable", f"It disappeared: {why}")))
        self._over(over)

    def _late(self, one: _Asked) -> PodStanding | None:
        """How a node ends that has been in its stage for too long."""
        said = f": {one.why.rstrip('.')}." if one.why else "."
        limits = self._limits
        if one.stage == "running" and one.waited > self._wish.job.seconds + limits.slack:
            return PodStanding(
                "over", "timed out", f"It did not finish within {self._wish.job.seconds:.0f} s.", log=True
            )
        if one.stage == "starting" and one.waited > limits.starting:
            return PodStanding("over", "failed", f"Its container did not start within {limits.starting:.0f} s{said}")
        if one.stage == "unscheduled" and one.waited > limits.unscheduled:
            return PodStanding("over", "not asked", f"Kubernetes cannot schedule the pod{said}")
        if one.stage == "podless" and one.waited > limits.unscheduled + limits.podless:
            return PodStanding("over", "not asked", "Kubernetes created no pod for the job.")
        return None

    def _unanswered(self, words: str) -> None:
        if self._stop.is_set() or time.monotonic() - self._answered < self._limits.silent:
            return
        why = f"Kubernetes stopped responding: {words.rstrip('.')}."
        self._over([(one, PodStanding("over", "unreachable", why)) for one in self._asked])
        for node in self._waiting:
            self._tell(Over(node.name, "not asked", why))
        self._waiting.clear()

    def _over(self, ended: Sequence[tuple[_Asked, PodStanding]]) -> None:
        """Read the logs of those that are over, tell them, and delete their jobs."""
        if not ended:
            return
        with ThreadPoolExecutor(AT_ONCE) as readers:
            ends = list(readers.map(lambda pair: self._last(*pair), ended))
        if self._stop.is_set():
            return
        for (one, _), end in zip(ended, ends, strict=True):
            self._asked.remove(one)
            self._tell(end)
        self._delete(one.job for one, _ in ended)

    def _last(self, one: _Asked, how: PodStanding) -> Over:
        """Tell the log; the end of the node, with the log's last words."""
        if not (how.log and one.pod):
            return Over(one.node.name, how.state, how.why)
        words = ""

        def line(text: str) -> None:
            nonlocal words
            self._tell(NodeLine(one.node.name, text))
            words = words if protocol.BEGINNING in text or not text.strip() else " ".join(text.split())

        ended = self._kubectl.call("logs", one.pod, f"--container={manifest.CONTAINER}", on_line=line)
        if not ended.ok:
            why = f"{how.why} Its log cannot be read: {last_words(ended).rstrip('.')}."
            return Over(one.node.name, how.state, why)
        why = f"{how.why.rstrip('.')}: {words[-400:].rstrip('.')}." if words and how.state == "failed" else how.why
        return Over(one.node.name, how.state, why)

    def _delete(self, jobs: Iterable[str]) -> None:
        self._kubectl.call("delete", "jobs", *jobs, "--ignore-not-found", "--wait=false", "--cascade=background")

    def _delete_all(self) -> None:
        """Delete whatever is left, and wait for its pods; a node that is lost keeps its own until it is back."""
        seconds = self._limits.tidy
        words = (f"--selector={manifest.INSTANCE}={self.instance}", "--cascade=foreground", f"--timeout={seconds:.0f}s")
        self._tidy.call("delete", "jobs", *words, "--ignore-not-found", seconds=seconds + 5)


_GONE = PodStanding("over", "unreachable", "Its pod was deleted during the run, by a user or with its node.")


def _refusal(what: str, said: str) -> PodStanding:
    state = "refused" if _WILL_NOT.search(said) else "failed"
    return PodStanding("over", state, f"{what}: {said[:400].rstrip('.')}.")


def _without(message: str, job: str) -> str:
    """A message without the pod's name, by which no two nodes would say the same."""
    return " ".join("it" if job in word else word for word in message.split())
