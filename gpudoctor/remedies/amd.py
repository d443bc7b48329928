"""Fixes of AMD's compute driver: groups, device nodes, packages, and the wheel that fits a GPU."""

from gpudoctor.facts import Facts, Node
from gpudoctor.judge import Fix
from gpudoctor.knowledge import packages
from gpudoctor.maybe import Unknown, known_or
from gpudoctor.remedies import system
from gpudoctor.remedies.boot import kernel_parameter
from gpudoctor.remedies.container import engine
from gpudoctor.subjects import cards_of, in_container

INSTALL = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/"
POST_INSTALL = f"{INSTALL}install/prerequisites.html"
CONTAINERS = f"{INSTALL}how-to/docker.html"
PROOF = "rocminfo | grep -E 'Name: +gfx'"
UDEV = 'KERNEL=="kfd", GROUP="render", MODE="0660"'
OVERFLOW = 65534  # the group that a user namespace shows for groups that it does not map


def group_of(facts: Facts, node: Node) -> str:
    """The name of a node's group on this machine, or its number."""
    gid = known_or(node.gid, -1)
    groups = (*facts.host.user.known_groups, *known_or(facts.host.user.groups, ()))
    return next((g.name for g in groups if g.gid == gid and g.name), str(gid))


def is_member(facts: Facts, node: Node) -> bool:
    """Whether this process already has the node's group."""
    return any(g.gid == node.gid for g in known_or(facts.host.user.groups, ()))


def join_group(facts: Facts, node: Node) -> tuple[Fix, ...]:
    """Let the user open a node that answers EACCES: by its group, or by a udev rule where it has none."""
    if in_container(facts):
        return (_group_into_container(facts, node),)
    name, mode = group_of(facts, node), known_or(node.mode, "660")
    if name in ("root", "0") or mode[-2:-1] not in ("6", "7"):
        return (_udev_rule(node),)
    if is_member(facts, node):
        return (_module_refuses(node),)
    names = name if name == "video" else f"{name},video"
    user = known_or(facts.host.user.name, None) or "$USER"
    commands = (f"sudo usermod -aG {names} {user}",)
    says = f"Add yourself to the group {name}, to which {node.path} belongs, then log out and in again."
    return (system.relogin(says, commands, f"sudo gpasswd -d {user} {name}", f"id -nG; {PROOF}"),)


def _group_into_container(facts: Facts, node: Node) -> Fix:
    gid = known_or(node.gid, OVERFLOW)
    if gid == OVERFLOW:
        return Fix(
            "Keep your own groups in the rootless container, so that the host's render group reaches it (its number is "
            f"not mapped here: `stat -c %g {node.path}` on the host shows it).",
            ("podman run --group-add keep-groups --device /dev/kfd --device /dev/dri ...",),
            "restart-process",
            needs="a new container",
            verify=PROOF,
        )
    says = (
        f"Start the container with the numeric group {gid} of the host, to which {node.path} belongs: names of groups "
        "inside the image may stand for other numbers."
    )
    command = f"docker run --device /dev/kfd --device /dev/dri --group-add {gid} ..."
    if engine(facts) == "kubernetes":
        says, command = (
            f"Give the pod that group ({gid}) in its specification, and start it anew.",
            f"spec:\n  securityContext:\n    supplementalGroups: [{gid}]",
        )
    return Fix(says, (command,), "restart-process", needs="a new container", verify=PROOF)


def _udev_rule(node: Node) -> Fix:
    rule = UDEV if node.path == "/dev/kfd" else 'SUBSYSTEM=="drm", KERNEL=="renderD*", GROUP="render", MODE="0660"'
    return Fix(
        f"{node.path} is open to no group: let udev give it to the group render, and add yourself to that group.",
        (
            f"echo '{rule}' | sudo tee /etc/udev/rules.d/70-amdgpu.rules",
            "sudo udevadm control --reload-rules && sudo udevadm trigger",
            "sudo usermod -aG render,video $USER",
        ),
        "relogin",
        root=True,
        needs="log out and in",
        undo="sudo rm /etc/udev/rules.d/70-amdgpu.rules",
        verify=f"ls -l {node.path}",
    )


def _module_refuses(node: Node) -> Fix:
    return Fix(
        f"You are in the group of {node.path} already: a security module (SELinux, AppArmor) or a sandbox refuses. "
        "Look for its message.",
        ("sudo journalctl -k -b | grep -iE 'avc|apparmor' | tail", f"getfacl {node.path}"),
        verify=PROOF,
    )


def pass_devices(facts: Facts) -> tuple[Fix, ...]:
    """Start the container with AMD's device nodes, in the words of its engine."""
    name = engine(facts)
    if name == "apptainer":
        says = "Start the container with --rocm, or bind the nodes, which --containall and --contain leave out."
        commands: tuple[str, ...] = ("apptainer exec --rocm ...", "apptainer exec --bind /dev/kfd,/dev/dri ...")
    elif name == "kubernetes":
        says = "Ask for the GPU in the pod's specification, by a limit; the node needs AMD's device plugin for it."
        limit = "spec:\n  containers:\n    - name: ...\n      resources:\n        limits:\n          amd.com/gpu: 1"
        commands = (
            limit,
            "kubectl get nodes -o custom-columns=NAME:.metadata.name,GPU:.status.allocatable.amd\\\\.com/gpu",
        )
    elif name == "lxc":
        says = (
            "On the host, give the container /dev/kfd and /dev/dri: mount entries, and device rules for their majors "
            "(226 is dri's, that of kfd is in /proc/devices)."
        )
        commands = ("lxc config device add CONTAINER gpu gpu", "pct set CTID -dev0 /dev/kfd -dev1 /dev/dri/renderD128")
    else:
        says = "Start the container with both device nodes, and with the host's numeric group of them."
        gid = "$(stat -c %g /dev/kfd)"
        program = "podman" if name == "podman" else "docker"
        commands = (f"{program} run --device /dev/kfd --device /dev/dri --group-add {gid} ...",)
    return (Fix(says, commands, "restart-process", needs="a new container", verify="ls -l /dev/kfd /dev/dri"),)


def finish_packages(facts: Facts, names: tuple[str, ...]) -> tuple[Fix, ...]:
    """Finish the installation of half-installed packages, or take them out."""
    return (
        Fix(
            "Finish the packages' installation; what fails then says why.",
            ("sudo dpkg --configure -a", "sudo apt-get install --fix-broken", *system.reinstall(facts, *names)),
            "reinstall-package",
            root=True,
            needs="reboot",
            verify="dkms status; ls -l /dev/kfd",
        ),
        Fix(
            "Where the module does not build for this kernel: take AMD's DKMS packages out. The kernel's own amdgpu "
            "serves ROCm too.",
            (*system.remove(facts, *names), "sudo reboot"),
            "reinstall-package",
            root=True,
            needs="reboot",
            impact="persistent",
            undo=" && ".join(system.install(facts, *names)) or None,
            verify="modinfo -F filename amdgpu; ls -l /dev/kfd",
        ),
    )


def log_lines(facts: Facts, *kinds: str) -> tuple[str, ...]:
    """What the kernel's log says, of these kinds."""
    events = () if isinstance(facts.log.events, Unknown) else facts.log.events
    return tuple(e.text for e in events if e.kind in kinds)[:4]


def shares_cards(facts: Facts) -> bool:
    """Whether this host lends virtual functions of its cards to guests: AMD's driver for that is gim, not amdgpu."""
    return any(card.driver == "gim" for card in cards_of(facts, "amd"))


def passthrough(facts: Facts) -> tuple[Fix, ...]:
    """Put the IOMMU into passthrough mode."""
    verify = "cat /sys/bus/pci/drivers/amdgpu/*/iommu_group/type"
    return (kernel_parameter(facts, "Let the IOMMU pass the cards' addresses through.", "iommu=pt", verify),)


def newer_firmware(facts: Facts, says: str = "Install the newest firmware of AMD's GPUs.") -> Fix:
    """Install the firmware of AMD's GPUs anew: AMD's own driver brings a package of its own, else the distribution."""
    family, identity = system.family_of(facts), known_or(facts.host.distribution.id, "")
    name = packages.amd_firmware_package(family, identity) if family else ""
    name = "amdgpu-dkms-firmware" if isinstance(facts.amd.version, str) and family == "debian" else name
    return Fix(
        f"{says} Then make the initial RAM disk anew, and restart.",
        (*(system.install(facts, name) if name else ()), *system.initramfs(facts), "sudo reboot"),
        "reinstall-package",
        root=True,
        needs="reboot",
        impact="persistent",
        verify=PROOF,
    )
