"""NVSwitch boards: which need the fabric manager, and how it is installed and started."""

import re

from gpudoctor.check_engine import Fix
from gpudoctor.digits import number_of
from gpudoctor.facts import Facts, Gpu
from gpudoctor.fixes import system
from gpudoctor.knowledge import packages
from gpudoctor.knowledge.pci_ids import needs_fabric
from gpudoctor.maybe import Maybe, Unknown, known_or
from gpudoctor.queries.kernel_log import events
from gpudoctor.targets import cards_of, gpus_of, in_container, switches_of
from gpudoctor.tasks import Command, Task, Tasks, as_root, filtered, query

UNIT = "nvidia-fabricmanager"
SUBNET_MANAGER = "nvlsm"
_DRIVERS = "https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html"


def needs_manager(facts: Facts) -> bool:
    """Whether the GPUs have to join an NVLink fabric: there are NVSwitches, or modules made for boards with them."""
    boards = any(needs_fabric(card.device) for card in cards_of(facts, "nvidia"))
    joins = any(g.fabric_state in ("not-started", "in-progress", "completed") for g in gpus_of(facts, "nvidia"))
    return bool(switches_of(facts)) or boards or joins


def multi_node(facts: Facts) -> bool:
    """Whether the fabric spans machines: then a controller on the switch trays sets it up, and no service here."""
    gpus = gpus_of(facts, "nvidia")
    racks = any(isinstance(g.name, str) and re.search(r"\bGB[23]00\b", g.name) for g in gpus)
    return racks or (any(g.fabric_of_several is True for g in gpus) and not _has_own_switches(facts))


def _has_own_switches(facts: Facts) -> bool:
    """Whether the board has NVSwitches of its own, whatever UUID its fabric has: racks of Hopper are Arm's (GH200)."""
    hopper = any(card.generation == "Hopper" for card in cards_of(facts, "nvidia"))
    return bool(switches_of(facts)) or (hopper and facts.host.architecture == "x86_64")


def wired_on_board(facts: Facts, gpu: Gpu) -> bool:
    """Whether the NVLinks are wires of the board (SXM, racks); cards have them by bridges, which need not be on all."""
    if is_bridged(gpu):
        return False
    fabric = gpu.fabric_state in ("completed", "in-progress", "not-started")
    named = isinstance(gpu.name, str) and "SXM" in gpu.name
    return bool(switches_of(facts)) or fabric or named or multi_node(facts)


def is_bridged(gpu: Gpu) -> bool:
    """Whether it is a card, whose bridges join some of its links: "H100 PCIe" and "H100 NVL" have 12 of 18.

    Azure/azurehpc-health-checks#162.
    """
    return isinstance(gpu.name, str) and gpu.name.endswith(("PCIe", " NVL"))


def link_parts(facts: Facts, gpu: Gpu) -> str:
    """What may have to be replaced where NVLinks stay bad, for "the ... has to be replaced"."""
    if not wired_on_board(facts, gpu):
        return "bridge or a card"
    return "board, an NVSwitch or the GPU" if needs_manager(facts) else "board or the GPU"


def switches_elsewhere(facts: Facts) -> bool:
    """Whether this is a guest that has GPUs of an NVSwitch board and none of its switches: the host sets them up.

    Up to Hopper the switches are PCI devices, so any guest without them is one. From Blackwell on they are reached
    through InfiniBand adapters, so only a hypervisor's name tells.
    """
    hypervisor = known_or(facts.host.virtual, None)
    if hypervisor is None or in_container(facts) or switches_of(facts) or isinstance(facts.pci, Unknown):
        return False
    return hypervisor != "other" or not any(card.generation == "Blackwell" for card in cards_of(facts, "nvidia"))


def state_of_gpus(facts: Facts) -> Task:
    """What shows that the fabric is up: the state of each GPU, from Hopper on; before that NVML has none, but links."""
    if any(g.fabric_state in ("not-started", "in-progress", "completed") for g in gpus_of(facts, "nvidia")):
        return filtered(query("nvidia-smi", "-q"), query("grep", "-A2", "Fabric"))
    return query("nvidia-smi", "nvlink", "--status")


def joined(facts: Facts) -> bool:
    """Whether every GPU has joined the NVLink fabric."""
    gpus = gpus_of(facts, "nvidia")
    return bool(gpus) and all(gpu.fabric_state == "completed" for gpu in gpus)


def is_confidential_guest(facts: Facts) -> bool:
    """Whether this is a confidential virtual machine (SEV-SNP, TDX) whose GPUs need not join a fabric, or have."""
    return bool(events(facts, "confidential-guest")) and (joined(facts) or not needs_manager(facts))


def needs_subnet_manager(facts: Facts) -> bool:
    """Whether the fabric manager works only with NVLink's subnet manager: on HGX boards from Blackwell on."""
    return not multi_node(facts) and any(
        needs_fabric(card.device) and card.generation == "Blackwell" for card in cards_of(facts, "nvidia")
    )


def waiting(facts: Facts) -> tuple[Gpu, ...]:
    """The GPUs that have not joined the fabric yet."""
    return tuple(g for g in gpus_of(facts, "nvidia") if g.fabric_state in ("not-started", "in-progress"))


def missing_modules(facts: Facts) -> tuple[str, ...]:
    """The InfiniBand management modules that are not loaded; the manager needs them for Blackwell's switches."""
    if not any(card.generation == "Blackwell" for card in cards_of(facts, "nvidia")):
        return ()
    modules = known_or(facts.nvidia.kernel.modules, None)
    return () if modules is None else tuple(m for m in ("mlx5_ib", "ib_umad") if m not in modules)


def version_of_manager(facts: Facts) -> Maybe[str | None]:
    """The manager's version as its program names it, else as its package does."""
    named = facts.nvidia.kernel.fabric_manager_version
    if not isinstance(named, Unknown):
        return named
    for name, version, state in known_or(facts.nvidia.kernel.packages, ()):
        # "550.90.07-0ubuntu0.22.04.1", "1:550.90.07-1", of nvidia-fabricmanager-550 or nvidia-fabric-manager
        found = re.match(r"(?:\d+:)?(\d{3}\.\d+(?:\.\d+)*)", version)
        if re.match(r"nvidia-fabric-?manager(?!-dev)", name) and found and state[:1] not in "rp":
            return found[1]
    return named


def load_modules(facts: Facts) -> tuple[Command, ...]:
    """Load the missing InfiniBand modules; Ubuntu's cloud kernels have them in a package of their own."""
    missing = missing_modules(facts)
    release = known_or(facts.host.kernel.release, None)
    extra: tuple[Command, ...] = ()
    if missing and release and known_or(facts.host.distribution.id, "") == "ubuntu":
        extra = system.install(facts, packages.extra_modules_package(release))
    return (*extra, *(as_root("modprobe", m) for m in missing))


def version_of_driver(facts: Facts) -> str:
    """The loaded module's version, or the word for it."""
    return known_or(facts.nvidia.kernel.loaded, None) or "VERSION"


def package(facts: Facts, version: str) -> str | None:
    """The manager's package for a driver of this version; None: this distribution's is not known."""
    family = system.family_of(facts)
    return packages.fabric_manager_package(family, number_of(version.partition(".")[0]) or 0) if family else None


def install(facts: Facts) -> tuple[Command, ...]:
    """The command that installs the manager in exactly the driver's version."""
    family, version = system.family_of(facts), version_of_driver(facts)
    name = package(facts, version)
    if name is None:
        return ()
    exact = {"debian": f"{name}={version}*", "fedora": f"{name}-{version}", "suse": f"{name}={version}"}
    return system.install(facts, exact.get(family or "", name))


def has_manager(facts: Facts) -> bool:
    """Whether a driver needs a fabric manager of its own version here: one is installed, or the GPUs need one.

    Not in a container, nor in a guest without switches: there the host has it. Nor where the fabric spans machines.
    """
    if in_container(facts) or multi_node(facts):
        return False
    own = bool(switches_of(facts)) or known_or(facts.host.virtual, None) in (None, "other")
    return own and (isinstance(facts.nvidia.kernel.fabric_manager, str) or needs_manager(facts))


def install_of_branch(facts: Facts, branch: int) -> Tasks:
    """The manager of a driver branch, which starts at boot: GPUs behind NVSwitches do not start without it."""
    family = system.family_of(facts)
    name = packages.fabric_manager_package(family, branch) if family else None
    if name is None:
        return ()
    if family == "fedora":  # NVIDIA's repositories have every branch's under one name, and would give the newest
        name = f"{name}-{branch}*"
    elif family == "suse":
        name = f"{name}<{branch + 1}"
    names = (name, SUBNET_MANAGER) if needs_subnet_manager(facts) else (name,)
    return (*system.install(facts, *names), as_root("systemctl", "enable", UNIT))


def start(facts: Facts) -> tuple[Fix, ...]:
    """Install where needed, start now and at every boot."""
    if in_container(facts):
        message = f"On the host that owns the NVSwitches: start {UNIT}, then restart this container."
        tasks = (as_root("systemctl", "enable", "--now", UNIT),)
        return (Fix(message, tasks, "restart-process", root=True, place="outside"),)
    installed = facts.nvidia.kernel.fabric_manager is not None
    commands = () if installed else install(facts)
    unmask = (as_root("systemctl", "unmask", UNIT),) if facts.nvidia.kernel.fabric_manager == "masked" else ()
    if facts.nvidia.kernel.subnet_manager is None and needs_subnet_manager(facts):
        commands = (*commands, *system.install(facts, SUBNET_MANAGER))
    version = version_of_driver(facts)
    message = f"Start {UNIT} now and at every boot; it must be of exactly the driver's version, {version}."
    if not installed:
        message = f"Install {UNIT} in exactly the driver's version, {version}, and start it now and at every boot."
    return (
        Fix(
            message,
            (*commands, *load_modules(facts), *unmask, as_root("systemctl", "enable", "--now", UNIT)),
            "reinstall-package" if commands else "restart-process",
            root=True,
            undo=(as_root("systemctl", "disable", "--now", UNIT),),
            verify=state_of_gpus(facts),
        ),
        Fix(
            f"If it fails to start, its log shows why: a version that differs, or a switch fault. {_DRIVERS}",
            (
                query("journalctl", "-u", UNIT, "-n", "30"),
                query("tail", "-n", "30", "/var/log/fabricmanager.log", root=True),
            ),
            impact="none",
        ),
    )
