"""Device nodes: their permissions, and what the kernel answers when the user opens them."""

from collections.abc import Mapping, Sequence

from gpudoctor.facts import DeviceNode
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown

# Where the kernel's compute driver for AMD's GPUs describes them (drivers/gpu/drm/amd/amdkfd/kfd_topology.c).
TOPOLOGY = "/sys/class/kfd/kfd/topology/nodes"


def look(machine: Machine, paths: Sequence[str], closed: Mapping[str, Unknown]) -> tuple[DeviceNode, ...]:
    """Describe nodes; those in `closed` are not opened, for the reason given there."""
    errors = machine.open_errors([path for path in paths if path not in closed])
    return tuple(_node(machine, path, errors.get(path, closed.get(path, Unknown("not opened")))) for path in paths)


def _node(machine: Machine, path: str, error: Maybe[str | None]) -> DeviceNode:
    status = machine.status(path)
    if status is None:
        why = Unknown(f"stat(2) on {path} failed")
        return DeviceNode(path=path, mode=why, uid=why, gid=why, major=why, minor=why, error=error)
    return DeviceNode(
        path=path,
        mode=f"{status.mode:03o}",
        uid=status.uid,
        gid=status.gid,
        major=status.major,
        minor=status.minor,
        error=error,
    )
