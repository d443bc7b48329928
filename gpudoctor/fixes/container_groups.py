"""The group that may open a device node, given to a container by its engine.

podman-run(1): keep-groups keeps the groups of the user who starts a rootless container, with the runtime crun alone.
"""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import DeviceNode, Facts
from gpudoctor.fixes.container import again, engine
from gpudoctor.fixes.system_container import OVERFLOW
from gpudoctor.maybe import known_or
from gpudoctor.tasks import Task, cmd, lines
from gpudoctor.tasks.placeholders import REST

# containers/ramalama#1983, containers/podman#25000 and #10166: with runc the option has no effect.
KEEPS = (
    "Podman keeps them only with the runtime crun: install it on the host where "
    "`podman info --format '{{.Host.OCIRuntime.Name}}'` says runc."
)


def with_own_groups(*options: str) -> Task:
    """Start rootless Podman's container with the groups of the user who starts it.

    Args:
        options: what else `podman run` gets.
    """
    return cmd("podman", "--runtime", "crun", "run", "--group-add", "keep-groups", *options, REST)


def into_container(facts: Facts, node: DeviceNode, devices: tuple[str, ...], verify: Task) -> Fix:
    """Start the container with the group of a node, by number: its name in the image may have another one.

    Args:
        facts: of a container that holds no whole system.
        node: the node that does not open.
        devices: the options by which its engine passes devices, such as ("--device", "/dev/dri").
        verify: what shows that it opens.
    """
    gid = known_or(node.gid, OVERFLOW)
    if gid == OVERFLOW:
        message = (
            "Keep your own groups in the rootless container, so that it gets the host's render group (its GID is not "
            f"mapped here; `stat -c %g {node.path}` on the host shows it). {KEEPS}"
        )
        return again(message, with_own_groups(*devices), verify=verify)
    if engine(facts) == "kubernetes":
        pod = lines(f"spec:\n  securityContext:\n    supplementalGroups: [{gid}]")
        return again(f"Add that group ({gid}) to the pod spec, and recreate the pod.", pod, verify=verify)
    message = (
        f"Start the container with the host's numeric group {gid}, to which {node.path} belongs: group names inside "
        "the image may have other GIDs."
    )
    program = "podman" if engine(facts) == "podman" else "docker"
    return again(message, cmd(program, "run", *devices, "--group-add", gid, REST), verify=verify)
