"""The user may not open NVIDIA's device nodes."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import DeviceNode, Facts
from gpudoctor.fixes import module, system
from gpudoctor.fixes.container import again
from gpudoctor.maybe import known, known_or, phrase
from gpudoctor.queries.cause_groups import SURROUNDINGS
from gpudoctor.queries.driver import not_wsl
from gpudoctor.targets import in_container
from gpudoctor.tasks import Shell, as_root, cmd, query
from gpudoctor.tasks.placeholders import REST


def _closed(facts: Facts) -> tuple[DeviceNode, ...]:
    """The nodes that computing needs and that answer EACCES: file permissions, not a cgroup."""
    wanted = ("/dev/nvidiactl", "/dev/nvidia-uvm")
    nodes = known(facts.nvidia.kernel.nodes)
    ours = [n for n in nodes if n.path in wanted or n.path.removeprefix("/dev/nvidia").isdigit()]
    return tuple(n for n in ours if n.error == "EACCES")


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    node = _closed(facts)[0]
    if in_container(facts):
        message = (
            "Run the container with the node's group (--group-add), or let the host make the nodes readable for all."
        )
        if known_or(facts.host.container, None) == "podman":
            keep = "Start the container with your own groups: Podman without root can keep them, and give no others."
            return (again(keep, cmd("podman", "run", "--group-add", "keep-groups", REST)), module.on_the_host(message))
        return (module.on_the_host(message),)
    gid, mode = known_or(node.gid, 0), known_or(node.mode, "")
    name = _group_name(facts, gid)
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
    message = f"Open the nodes again; if an option NVreg_DeviceFileMode or _GID forbids it, change it to {option}."
    return (Fix(message, commands, "change-environment", root=True, verify=query("ls", "-l", node.path)),)


def _group_name(facts: Facts, gid: int) -> str:
    return next((g.name for g in facts.host.user.known_groups if g.gid == gid and g.name), str(gid))


@check(
    title="You may not open NVIDIA's device nodes",
    severity=Severity.ERROR,
    cause="The nodes under /dev allow only root or a group (mode and group; errno EACCES), set by the module's option "
    "NVreg_DeviceFileMode, by udev or by hand.",
    fixes=_fixes,
    references=("https://download.nvidia.com/XFree86/Linux-x86_64/580.95.05/README/faq.html",),
    targets=not_wsl,
    caused_by=("container.selinux-denied", *SURROUNDINGS),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def device_nodes_closed(facts: Facts) -> Problem | None:
    """Opening a node that computing needs gives EACCES."""
    closed = _closed(facts)
    if not closed:
        return None
    lines = tuple(f"{n.path}{phrase(' mode {}', n.mode)}{phrase(' group {}', n.gid)}: EACCES" for n in closed)
    message = f"{closed[0].path} cannot be opened: Permission denied (EACCES{phrase(', mode {}', closed[0].mode)})."
    # Where CUDA starts, only some GPUs are closed: their owner gives them to other users.
    return Problem(message, lines, severity=Severity.ADVICE if facts.nvidia.cuda.code == 0 else None)
