"""Containers that Docker created and could not start: for a requirement of the image, or for GPUs that it cannot give.

NVIDIA_REQUIRE_CUDA of an image is compared with the driver when its container starts; the error stays in the
container's state (`docker inspect`, State.Error):
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html#constraints
"""

import json

from gpudoctor.facts.container_host import RefusedContainer
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown

# A daemon that hangs must not cost more than this.
_SECONDS = 3.0
_MOST = 20  # the newest ones
_ID = pattern(r"[0-9a-f]{12,64}")
# The daemon's errors at --gpus without NVIDIA's runtime (moby/moby, daemon/devices.go), and from Docker 29 on by CDI.
_NO_GPUS = pattern(
    r"could not select device driver .* with capabilities: \[\[.*gpu|discover GPU vendor from CDI"
    r"|AMD CDI spec not found"
)
_CONDITION = pattern(r"unsatisfied condition: ([a-z]+>=\d+(?:\.\d+)*)")


def refused(machine: Machine, client: str) -> Maybe[tuple[RefusedContainer, ...]]:
    """Ask Docker for containers that never ran, and why.

    Args:
        machine: where to ask.
        client: Docker's client.
    """
    idle = ("--filter", "status=created", "--filter", "status=exited")
    listed = machine.run([client, "ps", "--all", "--no-trunc", *idle, "--format", "{{.ID}}"], seconds=_SECONDS)
    if not listed.ok:
        return Unknown(f"docker ps: {listed.err.strip() or listed.missing or 'it timed out'}")
    first = [line.split()[0] for line in listed.out.splitlines() if line.strip()]
    ids = [one for one in first if _ID.fullmatch(one)][:_MOST]
    if not ids:
        return ()
    shown = machine.run([client, "inspect", *ids], seconds=_SECONDS)
    try:
        containers = json.loads(shown.out)
    except ValueError:
        return Unknown(f"docker inspect: {shown.err.strip() or shown.missing or 'no JSON'}")
    found = map(_refused, containers if isinstance(containers, list) else ())
    return tuple(one for one in found if one)


def _refused(container: object) -> RefusedContainer | None:
    fields = container if isinstance(container, dict) else {}
    state, name = fields.get("State"), fields.get("Name") or fields.get("Id")
    error = state.get("Error") if isinstance(state, dict) else None
    if not isinstance(error, str):
        return None
    unmet = _CONDITION.search(error)
    condition = unmet[1] if unmet else "gpus" if _NO_GPUS.search(error) else None
    if condition is None:
        return None
    return RefusedContainer(name=name.lstrip("/") if isinstance(name, str) else "without a name", condition=condition)
