"""How NVIDIA's device plugin ended on this node of Kubernetes: the newest log of its container.

The kubelet keeps logs in /var/log/pods/NAMESPACE_POD_UID/CONTAINER/RESTART.log, and removes them with the pod
(https://kubernetes.io/docs/concepts/cluster-administration/logging/#log-location-node).
"""

import errno
import os

from gpudoctor.digits import number_of
from gpudoctor.knowledge.container_toolkit import container_toolkit
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown

_LOGS = "/var/log/pods"
_PLUGIN = "device-plugin"
# A plugin that finds no GPU ends after a few lines; a longer log is one that works.
_BYTES = 256 << 10
_SHOWN = 200


def blind(machine: Machine) -> Maybe[str | None]:
    """Return the line with which the plugin says that it finds no GPU; None: no pod here ended so, or another works."""
    found: str | None = None
    try:
        paths = _newest(machine)
    except PermissionError as error:
        return Unknown(f"{error.filename} may not be listed")
    for path in paths:
        try:
            text = machine.text(path, _BYTES)
        except OSError as error:
            return Unknown(f"{path}: {error.strerror}")
        line, works = _read(text)
        if works:
            return None
        found = found or line
    return found


def _newest(machine: Machine) -> list[str]:
    """The log of the last start of each of the plugin's containers; AMD's and Intel's plugins have the name as well.

    Raises:
        PermissionError: a directory may not be listed.
    """
    folders = [
        f"{_LOGS}/{pod}/{container}"
        for pod in _names(machine, _LOGS)
        if _PLUGIN in pod
        for container in _names(machine, f"{_LOGS}/{pod}")
        if container.startswith("nvidia-") and _PLUGIN in container
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


def _read(text: str) -> tuple[str | None, bool]:
    """Return the line that names why there is no GPU, and whether the plugin offers one."""
    texts = container_toolkit().plugin
    said = [line for line in text.splitlines() if any(part in line.lower() for part in texts.blind)]
    # "2026-05-06T19:35:17.052201Z stderr F text", as the container runtime writes it.
    first = said[0].split(" ", 3)[-1].strip()[:_SHOWN] if said else None
    return first, texts.works in text.lower()
