"""How NVIDIA's device plugin and toolkit ended on this node of Kubernetes: the newest logs of their containers.

The kubelet keeps logs in /var/log/pods/NAMESPACE_POD_UID/CONTAINER/RESTART.log, and removes them with the pod
(https://kubernetes.io/docs/concepts/cluster-administration/logging/#log-location-node).
"""

import errno
import os
from collections.abc import Sequence

from gpudoctor.digits import number_of
from gpudoctor.knowledge.container_toolkit import container_toolkit
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown

_LOGS = "/var/log/pods"
_PLUGIN = "device-plugin"
_TOOLKIT = "container-toolkit"  # of the GPU Operator: nvidia-container-toolkit-daemonset
# A plugin that finds no GPU ends after a few lines; a longer log is one that works.
_BYTES = 256 << 10
_SHOWN = 200


def blind(machine: Machine) -> Maybe[str | None]:
    """Return the line with which the plugin says that it finds no GPU; None: no pod here ended so, or another works."""
    texts = container_toolkit().plugin
    return _ended(machine, _PLUGIN, texts.blind, texts.works)


def refused(machine: Machine) -> Maybe[str | None]:
    """Return the line with which the toolkit's pod says that it cannot read containerd's configuration; else None."""
    texts = container_toolkit().containerd
    return _ended(machine, _TOOLKIT, texts.refused, texts.works)


def _ended(machine: Machine, container: str, ends: Sequence[str], works: str) -> Maybe[str | None]:
    """Return the line with one of the texts; None: no log has one, or a pod here works."""
    found: str | None = None
    try:
        paths = _newest(machine, container)
    except PermissionError as error:
        return Unknown(f"{error.filename} may not be listed")
    for path in paths:
        try:
            text = machine.text(path, _BYTES)
        except OSError as error:
            return Unknown(f"{path}: {error.strerror}")
        if works in text.lower():
            return None
        found = found or _line(text, ends)
    return found


def _newest(machine: Machine, part: str) -> list[str]:
    """The log of the last start of each of NVIDIA's containers with a name; AMD's and Intel's plugins have it as well.

    Args:
        machine: where to look.
        part: what the pod's name and the container's contain.

    Raises:
        PermissionError: a directory may not be listed.
    """
    folders = [
        f"{_LOGS}/{pod}/{container}"
        for pod in _names(machine, _LOGS)
        if part in pod
        for container in _names(machine, f"{_LOGS}/{pod}")
        if container.startswith("nvidia-") and part in container
    ]
    restarts = {folder: [number_of(n.removesuffix(".log")) for n in _names(machine, folder)] for folder in folders}
    return [
        f"{folder}/{max(numbers)}.log"
        for folder, found in restarts.items()
        if (numbers := [number for number in found if number is not None])
    ]


def _names(machine: Machine, folder: str) -> list[str]:
    names = machine.listed(folder)
    if names is None and machine.exists(folder):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder)
    return names or []


def _line(text: str, ends: Sequence[str]) -> str | None:
    """Return the first line with one of the texts, without what the container runtime writes before it."""
    said = [line for line in text.splitlines() if any(part in line.lower() for part in ends)]
    # "2026-05-06T19:35:17.052201Z stderr F text", as the container runtime writes it.
    return said[0].split(" ", 3)[-1].strip()[:_SHOWN] if said else None
