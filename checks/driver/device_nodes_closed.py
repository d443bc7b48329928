"""The user has no permission to open NVIDIA's device nodes."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import DeviceNode, Facts
from gpudoctor.fixes import amd, module, system
from gpudoctor.fixes.container import again
from gpudoctor.fixes.system_container import holds_a_system, open_node
from gpudoctor.maybe import known, known_or, phrase
from gpudoctor.queries.cause_groups import SURROUNDINGS
from gpudoctor.queries.driver import not_wsl
from gpudoctor.targets import in_container
from gpudoctor.tasks import Shell, as_root, cmd, query
from gpudoctor.tasks.placeholders import REST


def _closed(facts: Facts) -> tuple[DeviceNode, ...]:
    """The nodes that computing needs and that return EACCES: file permissions, not a cgroup."""
    wanted = ("/dev/nvidiactl", "/dev/nvidia-uvm")
    nodes = known(facts.nvidia.kernel.nodes)
    ours = [n for n in nodes if n.path in wanted or n.path.removeprefix("/dev/nvidia").isdigit()]
    return tuple(n for n in ours if n.error == "EACCES")


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    node = _closed(facts)[0]
    if holds_a_system(facts):
        return open_node(facts, node, query("ls", "-l", node.path))
    if in_container(facts):
        message = (
            "Run the container with the node's group (--group-add), or make the nodes readable for all on the host."
        )
        if known_or(facts.host.container, None) == "podman":
            keep = "Start the container with your own groups: rootless Podman can keep them, but cannot add others."
            return (again(keep, cmd("podman", "run", "--group-add", "keep-groups", REST)), module.on_the_host(message))
        return (module.on_the_host(message),)
    gid, mode = known_or(node.gid, 0), known_or(node.mode, "")
    name = amd.group_of(facts, node)
    if gid != 0 and mode[-2:-1] in ("6", "7"):
        message = f"Add yourself to the group {name}, which may open the nodes, then log out and in."
        return (
            system.relogin(
                message, (Shell(f"usermod -aG {name} $USER", root=True),), verify=query("ls", "-l", node.path)
            ),
        )
    option = "NVreg_DeviceFileMode=0666"
    commands = (
        as_root("chmod", "666", node.path),
        query("grep", "-rn", "NVreg_DeviceFile", "/etc/modprobe.d", "/usr/lib/modprobe.d"),
    )
    message = (
        "Restore the nodes' permissions; if an option NVreg_DeviceFileMode or _GID restricts them, change it to "
        f"{option}."
    )
    return (Fix(message, commands, "change-environment", root=True, verify=query("ls", "-l", node.path)),)


@check(
    title="Permission denied: NVIDIA's device nodes (/dev/nvidia*)",
    severity=Severity.ERROR,
    cause="The nodes under /dev are open only to root or a group (mode and group; errno EACCES), because of the "
    "module's option NVreg_DeviceFileMode, udev or a manual change.",
    fixes=_fixes,
    references=("https://download.nvidia.com/XFree86/Linux-x86_64/580.95.05/README/faq.html",),
    targets=not_wsl,
    caused_by=("container.selinux-denied", *SURROUNDINGS),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def device_nodes_closed(facts: Facts) -> Problem | None:
    """Opening a node that computing needs returns EACCES."""
    closed = _closed(facts)
    if not closed:
        return None
    lines = tuple(f"{n.path}{phrase(' mode {}', n.mode)}{phrase(' group {}', n.gid)}: EACCES" for n in closed)
    message = f"{closed[0].path} cannot be opened: Permission denied (EACCES{phrase(', mode {}', closed[0].mode)})."
    if known_or(closed[0].gid, 0) != 0:
        message += f" It belongs to the group {amd.group_of(facts, closed[0])}."
    # Where CUDA starts, only some GPUs are closed: they are reserved for other users.
    return Problem(message, lines, severity=Severity.ADVICE if facts.nvidia.cuda.code == 0 else None)
