"""The user has no permission to open NVIDIA's device nodes."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import DeviceNode, Facts
from gpudoctor.fixes import amd, module, system
from gpudoctor.fixes.container import again, engine
from gpudoctor.fixes.container_groups import KEEPS, with_own_groups
from gpudoctor.fixes.system_container import OVERFLOW, open_node
from gpudoctor.maybe import known, known_or, phrase
from gpudoctor.queries.cause_groups import SURROUNDINGS
from gpudoctor.queries.driver import not_wsl
from gpudoctor.targets import in_container, in_system_container
from gpudoctor.tasks import Edit, Shell, as_root, cmd, lines, query
from gpudoctor.tasks.placeholders import REST

# The memory manager of a Jetson, which its libcuda opens first (NvRmMemInitNvmap).
_TEGRA = "/dev/nvmap"
_JETSONS = (
    "A Jetson's device nodes belong to the group video by a udev rule of NVIDIA's images, and to root alone without "
    "that rule. Others cannot open them (errno EACCES)."
)


def _closed(facts: Facts) -> tuple[DeviceNode, ...]:
    """The nodes that computing needs and that return EACCES: file permissions, not a cgroup."""
    wanted = ("/dev/nvidiactl", "/dev/nvidia-uvm", _TEGRA)
    nodes = known(facts.nvidia.kernel.nodes)
    ours = [n for n in nodes if n.path in wanted or n.path.removeprefix("/dev/nvidia").isdigit()]
    # Where a Jetson's rule makes nvmap readable for its group (0440), the libraries open it for reading.
    return tuple(n for n in ours if n.error == "EACCES" and not (n.path == _TEGRA and amd.is_member(facts, n)))


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    node = _closed(facts)[0]
    if in_system_container(facts):
        return open_node(facts, node, query("ls", "-l", node.path))
    if in_container(facts):
        return (_into_container(facts, node),)
    gid, mode = known_or(node.gid, 0), known_or(node.mode, "")
    name = amd.group_of(facts, node)
    if gid != 0 and mode[-2:-1] in ("6", "7", *(["4"] if node.path == _TEGRA else [])):
        message = f"Add yourself to the group {name}, which may open the nodes, then log out and in."
        return (
            system.relogin(
                message, (Shell(f"usermod -aG {name} $USER", root=True),), verify=query("ls", "-l", node.path)
            ),
        )
    if node.path == _TEGRA:
        return (_tegra_rule(facts),)
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


def _into_container(facts: Facts, node: DeviceNode) -> Fix:
    """By number: the group's name in the image may have another one."""
    gid = known_or(node.gid, 0)
    if known_or(facts.host.container, None) == "podman":
        keep = "Start the container with your own groups: rootless Podman can keep them, but cannot add others."
        return again(f"{keep} {KEEPS}", with_own_groups())
    if gid in (0, OVERFLOW):
        return module.on_the_host("On the host: make the nodes readable for a group or for all, with a udev rule.")
    if engine(facts) == "kubernetes":
        message = f"Add the node's group ({gid}) to the pod spec, and recreate the pod."
        return again(message, lines(f"spec:\n  securityContext:\n    supplementalGroups: [{gid}]"))
    message = f"Start the container with the host's numeric group {gid}, to which {node.path} belongs."
    gpus = ("--runtime", "nvidia") if node.path == _TEGRA else ("--gpus", "all")
    return again(message, cmd("docker", "run", *gpus, "--group-add", gid, REST))


def _tegra_rule(facts: Facts) -> Fix:
    """Root's alone, as in images without NVIDIA's udev rules (OE4T/meta-tegra-community#104)."""
    rule = 'KERNEL=="nvmap", GROUP="video", MODE="0660"\nKERNEL=="nvhost-*", GROUP="video", MODE="0660"\n'
    rule += 'SUBSYSTEM=="nvidia-gpu*", GROUP="video", MODE="0660"\n'
    path = "/etc/udev/rules.d/99-tegra-devices.rules"
    commands = (
        Edit(path, text=rule, root=True),
        as_root("udevadm", "control", "--reload-rules"),
        as_root("udevadm", "trigger"),
        system.join_groups(facts, "video"),
    )
    message = "Give the Jetson's device nodes to the group video with a udev rule, join that group, log out and in."
    return system.relogin(message, commands, (Edit(path, gone=True, root=True),), query("ls", "-l", _TEGRA))


@check(
    title="Permission denied: NVIDIA's device nodes in /dev",
    severity=Severity.ERROR,
    cause="The nodes under /dev are open only to root or a group (mode and group; errno EACCES), because of the "
    "module's option NVreg_DeviceFileMode, udev or a manual change.",
    fixes=_fixes,
    references=(
        "https://download.nvidia.com/XFree86/Linux-x86_64/580.95.05/README/faq.html",
        "https://github.com/NVIDIA/NemoClaw/pull/5018",
        "https://github.com/OE4T/meta-tegra-community/issues/104",
    ),
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
    node = "A Jetson's memory manager " if closed[0].path == _TEGRA else ""
    message = (
        f"{node}{closed[0].path} cannot be opened: Permission denied (EACCES{phrase(', mode {}', closed[0].mode)})."
    )
    if known_or(closed[0].gid, 0) != 0:
        message += f" It belongs to the group {amd.group_of(facts, closed[0])}."
    # Where CUDA starts, only some GPUs are closed: they are reserved for other users.
    severity = Severity.ADVICE if facts.nvidia.cuda.code == 0 else None
    return Problem(message, lines, _JETSONS if closed[0].path == _TEGRA else None, severity)
