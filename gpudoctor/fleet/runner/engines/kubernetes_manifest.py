"""The manifests: a Job for each node, which the engine creates, and a DaemonSet for those who apply it themselves.

How a pod sees the GPUs of its node. A limit such as `nvidia.com/gpu: 8` takes them away from jobs, and waits where they
are taken. So the pod asks for none: it is privileged, which shows it the devices, and where the cluster has NVIDIA's
RuntimeClass it runs in that, which brings the driver's libraries (NVIDIA_VISIBLE_DEVICES). It looks at the GPUs next to
those who uses them, and it has the node's own network, so that neighbors find each other by the nodes' names
(`--pairs`). With `exclusive` it is not privileged and takes the limit, as measurements may want it; then the network is
the pod's own, too.
"""

from collections.abc import Mapping, Sequence

from gpudoctor.fleet.runner.engine import EngineError
from gpudoctor.fleet.runner.engines.kubernetes_objects import KubernetesNode
from gpudoctor.lazy_regex import pattern

NAME = "gpudoctor-fleet"
INSTANCE = "app.kubernetes.io/instance"  # a recommended label: it says which run a thing is of
JOB = "gpudoctor/job"  # on each pod, the name of its job; Kubernetes' own label has had two names
CONTAINER = "gpudoctor"
KEPT = 600  # seconds after which Kubernetes deletes what a run that was killed has left behind
FOLDER = "/reports"
# The label that GPU feature discovery, a part of NVIDIA's GPU operator and device plugin, puts on nodes with GPUs:
# https://github.com/NVIDIA/k8s-device-plugin/blob/main/docs/gpu-feature-discovery/README.md.
GPU_NODES = {"nvidia.com/gpu.present": "true"}
# Nothing takes a node away from us, as nothing does from a DaemonSet: neither a taint nor a cordon.
_TOLERATED = [{"operator": "Exists"}]
_NVIDIA = "nvidia.com/gpu"
# NCCL and PyTorch's loaders need more than the 64 MiB that a container has at this place.
_MOUNTED = {"volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}]}
# Names of objects, and keys of labels: kubernetes.io/docs/concepts/overview/working-with-objects/names and labels.
_NAMED = pattern(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\Z")
_KEY = pattern(r"([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?\Z")


def job(
    name: str,
    instance: str,
    node: KubernetesNode,
    argv: Sequence[str],
    *,
    image: str,
    seconds: float,
    runtime_class: str = "",
    gpus: bool = True,
    exclusive: bool = False,
) -> dict[str, object]:
    """A Job of one pod on one node, tried once.

    Args:
        name: of the job.
        instance: of the run, by which all of it is found.
        node: where it runs, and nowhere else.
        argv: the command.
        image: that holds the command.
        seconds: after which Kubernetes ends it, whether it has begun or not, should nobody be left to do so.
        runtime_class: on nodes with NVIDIA's GPUs; empty: the node's own.
        gpus: whether it sees the node's GPUs.
        exclusive: whether it takes all of them.
    """
    labels = {"app.kubernetes.io/name": NAME, INSTANCE: instance, JOB: name}
    nvidia = gpus and _NVIDIA in node.gpus
    looks = gpus and not exclusive
    seen = _seen(nvidia) if looks else _taken(node)
    spec: dict[str, object] = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 5,
        "automountServiceAccountToken": False,
        **({"runtimeClassName": runtime_class} if nvidia and runtime_class else {}),
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": _only(node.name)}},
        "tolerations": _TOLERATED,
        **({"hostNetwork": True, "dnsPolicy": "Default"} if looks else {}),
        "containers": [
            {"name": CONTAINER, "image": image, "command": list(argv), **(seen if gpus else {}), **_MOUNTED}
        ],
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": int(seconds) + 1,
            "ttlSecondsAfterFinished": KEPT,
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def _only(node: str) -> dict[str, object]:
    """What pins a pod to a node as the DaemonSet controller does: the scheduler says where that cannot be."""
    return {
        "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}],
    }


def _seen(nvidia: bool) -> dict[str, object]:
    env = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"} if nvidia else {}
    listed = [{"name": name, "value": value} for name, value in env.items()]
    return {"securityContext": {"privileged": True}, **({"env": listed} if listed else {})}


def _taken(node: KubernetesNode) -> dict[str, object]:
    limits = {name: str(many) for name, many in node.gpus.items()}
    return {"resources": {"limits": limits}} if limits else {}


def manifest(
    image: str,
    *,
    program: Sequence[str] = ("gpudoctor",),
    namespace: str = "",
    claim: str = "gpudoctor-reports",
    selector: Mapping[str, str] | None = None,
    runtime_class: str = "",
    seconds: float = 120,
) -> str:
    """YAML for those who apply it themselves: a DaemonSet that puts a report of each node into one shared folder.

    Args:
        image: that holds gpudoctor, a shell, sleep, and tar (for `kubectl cp`).
        program: how gpudoctor is started in it.
        namespace: for all of it; empty: that of those who applies it.
        claim: the name of the PersistentVolumeClaim that is the directory; it has to be writable from many nodes.
        selector: labels of the nodes; None: those with GPUs of NVIDIA, as GPU feature discovery labels them.
        runtime_class: which brings the driver's libraries into the container; empty: NVIDIA's on nodes with its GPUs.
        seconds: the limit of each node.

    Raises:
        EngineError: a name is none that Kubernetes takes.
    """
    selector = GPU_NODES if selector is None else selector
    if not runtime_class and any(key.startswith("nvidia.com/") for key in selector):
        runtime_class = "nvidia"
    for name in (namespace, claim, runtime_class):
        if name and not _NAMED.match(name):
            raise EngineError(f"{name!r} is not a valid Kubernetes name.")
    for key in selector:
        if not _KEY.match(key):
            raise EngineError(f"{key!r} is not a valid Kubernetes label.")
    from gpudoctor.setup.exporters.common import remarks, yaml

    of = f" -n {namespace}" if namespace else ""
    head = [
        *remarks(
            "Writes a report of each node to one directory that all pods share. Apply, wait, copy the directory, merge:"
        ),
        "#",
        "#   kubectl apply -f FILE",
        f"#   kubectl rollout status{of} daemonset/{NAME}",
        f"#   kubectl cp{of} POD:{FOLDER} reports -c {CONTAINER}",
        "#   gpudoctor fleet merge reports -o fleet.jsonl",
        "#   kubectl delete -f FILE",
        "#",
        *remarks(f"POD is any of `kubectl get pods{of} -l app.kubernetes.io/name={NAME}`."),
        "#",
        *remarks(_where(selector, runtime_class)),
    ]
    place = {"namespace": namespace} if namespace else {}
    folder = _claim(claim, place)
    pods = _daemon_set(image, program, place, claim, selector, runtime_class, seconds)
    return "\n".join([*head, *yaml(folder), "---", *yaml(pods)]) + "\n"


def _where(selector: Mapping[str, str], runtime_class: str) -> str:
    """On which nodes it runs, and what the cluster must have."""
    labels = ",".join(f"{key}={value}" for key, value in selector.items())
    nodes = (
        f"It runs on the nodes that `kubectl get nodes -l {labels}` lists. For others, give their labels: `gpudoctor "
        "fleet run kubernetes kubernetes.io/os=linux --print` is for all nodes."
    )
    if not runtime_class:
        return nodes
    return (
        f"{nodes} The RuntimeClass {runtime_class} brings the driver's libraries into the pods; where `kubectl get "
        f"runtimeclass {runtime_class}` finds none, delete the line runtimeClassName."
    )


def _claim(claim: str, place: dict[str, str]) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": claim, **place},
        "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}},
    }


def _daemon_set(
    image: str,
    program: Sequence[str],
    place: dict[str, str],
    claim: str,
    selector: Mapping[str, str],
    runtime_class: str,
    seconds: float,
) -> dict[str, object]:
    labels = {"app.kubernetes.io/name": NAME}
    spec: dict[str, object] = {
        "terminationGracePeriodSeconds": 5,
        "automountServiceAccountToken": False,
        **({"runtimeClassName": runtime_class} if runtime_class else {}),
        "nodeSelector": dict(selector),
        "tolerations": _TOLERATED,
        "initContainers": [_examines(image, program, seconds)],
        # A DaemonSet's pods run for ever: this one waits, so that the directory can be copied out of it.
        "containers": [
            {
                "name": CONTAINER,
                "image": image,
                "command": ["sleep", "infinity"],
                "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                "volumeMounts": [{"name": "reports", "mountPath": FOLDER, "readOnly": True}],
            }
        ],
        "volumes": [{"name": "reports", "persistentVolumeClaim": {"claimName": claim}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": NAME, **place, "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            # All nodes at once; as it is written, one node that is unhealthy would hold up an update of the rest.
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%"}},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def _examines(image: str, program: Sequence[str], seconds: float) -> dict[str, object]:
    """The container that writes the report; 3 is "too little could be found out", and no reason to try for ever."""
    file = f"{FOLDER}/$(NODE_NAME).json"  # put in by Kubernetes, not by the shell
    check = [*program, "check", "--json", "--fail-on", "never", "--timeout", f"{seconds:g}", "--output", file]
    node = {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    nvidia = [
        {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
        {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "compute,utility"},
    ]
    return {
        "name": "examines",
        "image": image,
        "command": ["/bin/sh", "-c", '"$@" || [ $? -eq 3 ]', "sh", *check],
        "env": [node, *nvidia],
        "securityContext": {"privileged": True},
        "volumeMounts": [{"name": "reports", "mountPath": FOLDER}],
    }
