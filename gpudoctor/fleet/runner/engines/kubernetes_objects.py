"""What Kubernetes says of its nodes and of our pods, and what that means for the ledger."""

from typing import NamedTuple

import msgspec

from gpudoctor.fleet.runner.engine import FleetTarget

# Resources as which the device plugins of NVIDIA and AMD offer whole GPUs.
GPUS = ("nvidia.com/gpu", "amd.com/gpu")
# Labels of nodes with GPUs: of NVIDIA's GPU feature discovery and AMD's node labeller, and of node feature discovery,
# which names the PCI class and vendor (10de NVIDIA, 1002 AMD).
LABELS = (
    "nvidia.com/gpu", "nvidia.com/cuda", "amd.com/gpu",
    *(f"feature.node.kubernetes.io/pci-{start}{vendor}" for start in ("", "0300_", "0302_", "0380_", "1200_")
      for vendor in ("10de", "1002")),
)  # fmt: skip
# Reasons for which a container never starts (pkg/kubelet/images/types.go, pkg/kubelet/kuberuntime): kubelet tries
# again, but what was wrong with a manifest or an image stays wrong.
_NEVER = frozenset(
    ("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError",
     "RegistryUnavailable", "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
     "CreatePodSandboxError", "CrashLoopBackOff")
)  # fmt: skip
# Reasons of a pod that its node took with it (pkg/util/node, pkg/kubelet/nodeshutdown, pod garbage collection).
_NODE_LOST = frozenset(("NodeLost", "NodeShutdown", "Terminated", "Shutdown"))
# Of a container that could not be made to run at all (pkg/kubelet/kuberuntime, containerd, CRI-O).
_NOT_STARTED = frozenset(("StartError", "ContainerCannotRun"))
LONGEST = 400  # characters of somebody's words


class _Object(msgspec.Struct, frozen=True, rename="camel"):
    """A part of an object; fields that nobody here asks for are passed over."""


class ObjectMeta(_Object, frozen=True):
    """Name and labels."""

    name: str
    labels: dict[str, str] = {}


class Condition(_Object, frozen=True):
    """A condition of a node, a pod or a job."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class NodeStatus(_Object, frozen=True):
    """What the node offers, and how it is."""

    conditions: tuple[Condition, ...] = ()
    capacity: dict[str, str] = {}
    allocatable: dict[str, str] = {}


class KubernetesNode(_Object, frozen=True):
    """A node."""

    metadata: ObjectMeta
    status: NodeStatus = NodeStatus()

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name

    @property
    def gpus(self) -> dict[str, int]:
        """The whole GPUs that it offers, by resource; none where no device plugin speaks for them."""
        offered = {one: self.status.allocatable.get(one, "0") for one in GPUS}
        return {one: int(many) for one, many in offered.items() if many.isdecimal() and int(many)}

    @property
    def has_gpus(self) -> bool:
        """Whether anything tells of a GPU: a resource, though it may offer 0 now, or a label of a GPU operator's."""
        offered = {*self.status.capacity, *self.status.allocatable}
        return bool(offered.intersection(GPUS)) or any(one.startswith(LABELS) for one in self.metadata.labels)


class Waiting(_Object, frozen=True):
    """Why a container does not run yet."""

    reason: str = ""
    message: str = ""


class Terminated(_Object, frozen=True):
    """How a container ended."""

    exit_code: int
    reason: str = ""
    message: str = ""


class ContainerState(_Object, frozen=True):
    """One of them is set."""

    waiting: Waiting | None = None
    running: dict[str, object] | None = None
    terminated: Terminated | None = None


class ContainerStatus(_Object, frozen=True):
    """How a container stands."""

    state: ContainerState = ContainerState()


class PodStatus(_Object, frozen=True):
    """How a pod stands."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(_Object, frozen=True):
    """A pod of ours, with one container."""

    metadata: ObjectMeta
    status: PodStatus = PodStatus()


class Involved(_Object, frozen=True):
    """What an event is about."""

    name: str = ""


class KubernetesEvent(_Object, frozen=True):
    """An event, of which the one about a pod that cannot be made matters here."""

    involved_object: Involved = Involved()
    reason: str = ""
    message: str = ""


class PodStanding(NamedTuple):
    """How a pod stands.

    Attributes:
        stage: "unscheduled", "starting", "running", or "over".
        state: of the ledger, where it is over.
        why: where it is over, one sentence; else what it waits for.
        log: whether there may be a log.
    """

    stage: str
    state: str = ""
    why: str = ""
    log: bool = False


def target(node: KubernetesNode) -> FleetTarget:
    """A node as a target.

    A node that was cordoned can be asked, as a DaemonSet's pods run there: that is where somebody wants to look.
    """
    return FleetTarget(node=node.name, why_not=not_ready(node) or _foreign(node), gpus=sum(node.gpus.values()))


def not_ready(node: KubernetesNode) -> str:
    """Why a node does not respond, in a sentence; empty: it does."""
    ready = next((one for one in node.status.conditions if one.type == "Ready"), None)
    if ready is not None and ready.status == "True":
        return ""
    words = ready and (ready.message or ready.reason)
    return f"Kubernetes reports it as not ready{_told(words or '')}"


def _foreign(node: KubernetesNode) -> str:
    system = node.metadata.labels.get("kubernetes.io/os", "linux")
    return "" if system == "linux" else f"It runs {system.capitalize()}, which this container does not support."


def standing(pod: Pod) -> PodStanding:
    """How a pod stands, by what Kubernetes says of it."""
    status = pod.status
    state = status.container_statuses[0].state if status.container_statuses else ContainerState()
    if status.phase in ("Succeeded", "Failed"):
        return _ended(status, state.terminated)
    if status.phase == "Unknown":
        return PodStanding("over", "unreachable", f"Its node stopped responding{_told(status.message)}")
    if state.waiting and state.waiting.reason in _NEVER:
        why = f"Its container cannot be started: {state.waiting.reason}{_told(state.waiting.message)}"
        return PodStanding("over", "failed", why)
    if state.running is not None or state.terminated is not None:
        return PodStanding("running")
    scheduled = next((one for one in status.conditions if one.type == "PodScheduled"), None)
    if scheduled is None or scheduled.status != "True":
        return PodStanding("unscheduled", why=_words(scheduled.message or scheduled.reason) if scheduled else "")
    return PodStanding("starting", why=_words(state.waiting.message or state.waiting.reason) if state.waiting else "")


def _ended(status: PodStatus, how: Terminated | None) -> PodStanding:
    if status.reason in _NODE_LOST:
        return PodStanding(
            "over", "unreachable", f"Its node went down during the run{_told(status.message or status.reason)}"
        )
    if status.reason == "DeadlineExceeded":
        return PodStanding(
            "over", "timed out", f"Kubernetes terminated it{_told(status.message or status.reason)}", log=True
        )
    if status.reason == "Evicted":
        return PodStanding("over", "failed", f"Its node evicted the pod{_told(status.message)}", log=True)
    if how is None:
        words = f"{status.reason}: {status.message}" if status.reason and status.message else status.reason
        return PodStanding("over", "refused", f"Its node rejected the pod{_told(words or status.message)}")
    if how.reason in _NOT_STARTED:
        return PodStanding("over", "failed", f"Its container cannot be started: {how.reason}{_told(how.message)}")
    reason = f" ({how.reason})" if how.reason not in ("", "Completed", "Error") else ""
    return PodStanding(
        "over", "failed", f"The command failed there with exit code {how.exit_code}{reason}{_told(how.message)}", True
    )


def _told(words: str) -> str:
    """Somebody's words at the end of a sentence."""
    said = _words(words)
    return f": {said}" if said.endswith(("...", "!")) else f": {said.rstrip('.')}." if said else "."


def _words(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= LONGEST else words[:LONGEST] + "..."
