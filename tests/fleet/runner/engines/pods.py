"""Nodes and statuses of pods as Kubernetes gives them, shortened to what says something."""

from typing import Any

Status = dict[str, Any]


def node(name: str, *, ready: str = "True", cordoned: bool = False, gpus: int = 0, **labels: str) -> dict[str, Any]:
    """A node; `ready` is the condition's status, and what of it is not a name is told by kubelet or the controller."""
    words = {
        "True": ("KubeletReady", "kubelet is posting ready status"),
        "False": ("KubeletNotReady", "container runtime network not ready: cni plugin not initialized"),
        "Unknown": ("NodeStatusUnknown", "Kubelet stopped posting node status."),
    }
    reason, message = words[ready]
    pressure = {"type": "MemoryPressure", "status": "False", "reason": "KubeletHasSufficientMemory"}
    condition = {"type": "Ready", "status": ready, "reason": reason, "message": message}
    allocatable = {
        "cpu": "95",
        "memory": "1056203420Ki",
        "pods": "110",
        **({"nvidia.com/gpu": str(gpus)} if gpus else {}),
    }
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/os": "linux", **labels}},
        "spec": {"unschedulable": True, "taints": [taint]} if cordoned else {},
        "status": {"conditions": [pressure, condition], "allocatable": allocatable, "images": [{"sizeBytes": 1}]},
    }


SCHEDULED = {"type": "PodScheduled", "status": "True"}
NO_PLACE = (
    "0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 2 node(s) didn't match Pod's node affinity/selector. "
    "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
)
NEW: Status = {"phase": "Pending"}
UNSCHEDULED: Status = {
    "phase": "Pending",
    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": NO_PLACE}],
}
RUNNING: Status = {
    "phase": "Running",
    "conditions": [SCHEDULED],
    "containerStatuses": [
        {"name": "gpudoctor", "ready": True, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}
    ],
}


def waiting(reason: str, message: str = "") -> Status:
    """A pod whose container does not start."""
    state = {"waiting": {"reason": reason, **({"message": message} if message else {})}}
    return {"phase": "Pending", "conditions": [SCHEDULED], "containerStatuses": [{"name": "gpudoctor", "state": state}]}


def ended(code: int, reason: str = "", message: str = "") -> Status:
    """A pod whose container ended."""
    how = {"exitCode": code, "reason": reason or ("Error" if code else "Completed"), "message": message}
    phase = "Failed" if code else "Succeeded"
    return {"phase": phase, "containerStatuses": [{"name": "gpudoctor", "state": {"terminated": how}}]}


def failed(reason: str, message: str = "") -> Status:
    """A pod that failed as a whole."""
    return {"phase": "Failed", "reason": reason, "message": message}
