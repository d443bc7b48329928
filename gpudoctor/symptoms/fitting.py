"""Which steps of a message's row can be typed on a machine, and in which order: in WSL no Linux driver is installed."""

import shlex
from collections.abc import Sequence

import msgspec

from gpudoctor.facts import Facts
from gpudoctor.fixes.python import manager_of
from gpudoctor.fixes.system import driver_packages, family_of
from gpudoctor.fixes.wsl import windows_driver
from gpudoctor.knowledge.symptoms import Symptom
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import Unknown
from gpudoctor.report.fixes import entry
from gpudoctor.report.model import FixEntry
from gpudoctor.targets import gpus_of, in_container
from gpudoctor.tasks.as_typed import typed

# What changes the kernel, its modules or the driver's packages, which neither a container nor WSL has.
_HOST = pattern(
    r"\b(ubuntu-drivers|(nvidia-)?modprobe|rmmod|dkms|akmods?|kmodgenca|mokutil|dracut|update-initramfs|update-grub|grubby"
    r"|reboot|poweroff|akmod-nvidia|nvidia-driver|nvidia-open|linux-(headers|generic|firmware)|kernel-devel"
    r"|nvidia-fabric-?manager|nvidia-gridd|nvidia-persistenced|amdgpu-install)\b"
    r"|/etc/modprobe\.d|kernel command line|--gpu-?reset|systemctl (isolate|set-default)|nvidia-smi -(pl|pm|c|mig|r)\b"
)
# What sets up the engine that starts containers, which no container has.
_ENGINE = pattern(r"\b(nvidia-ctk|nvidia-container-toolkit|snap|systemctl restart (docker|containerd|crio))\b")
# Programs of the host that start containers, as the rows name them.
_ENGINES = (
    *("NVIDIA Container Toolkit", "CDI", "Docker", "Docker Compose", "Podman", "Apptainer"),
    *("containerd", "Kubernetes", "NVIDIA's GPU Operator"),
)
_SYSTEMS = ("lxc", "systemd-nspawn")
# The package manager that a command needs, by the family of distributions that has it.
_FAMILIES = (
    ("debian", pattern(r"\b(apt|apt-get|dpkg|update-initramfs|update-grub|ubuntu-drivers)\b")),
    ("fedora", pattern(r"\b(dnf|yum|rpm|akmods?|dracut|grubby|kmodgenca)\b")),
    ("suse", pattern(r"\bzypper\b")),
    ("arch", pattern(r"\b(pacman|mkinitcpio)\b")),
)
_PCI = pattern(r"^lspci\b")  # WSL has no PCI device that it could show
_UBUNTU = pattern(r"\bubuntu-drivers\b|linux-(headers-)?generic|/var/lib/shim-signed/")
_PINNED = pattern(r"\binstall (?:\S+ )*nvidia-driver-(\d+)")
# What a step says of distributions, superfluous once only this machine's commands are left.
_NAMED = pattern(r" \((?=[^)]*\b(?:Debian|Ubuntu|Fedora|RHEL)\b)[^)]*\)")
_OTHERS = pattern(r"(?:On|Install them on) (Debian|Fedora|RHEL|Ubuntu)\b")
_ITSELF = pattern(r"^On the machine(?: itself)?(?: \(Ubuntu\))?: ")
_CONDITION = pattern(r"(If|Without|For|On|With|Otherwise|Then|In) ")
_SUDO = pattern(r"\bsudo (?=[^-])")
_CONTAINER, _WSL, _CONDA = (
    pattern(r"^In (?:a container|Docker|Kubernetes)\b"),
    pattern(r"^In WSL\b"),
    pattern(r"^(?:In|With) conda\b"),
)
_DRIVERLESS = pattern(r"\b[Ii]nstall (?:or load )?the (?:NVIDIA )?driver\b|^If no driver is|^Without an NVIDIA GPU\b")
_PYTHON = pattern(r"(?<![\w./-])python(?= -[mc] )")
_PIP = pattern(r"(?<![\w./-])python -m pip (install|uninstall|list|show)(?: -y)?")
_WHICH = "sys.executable"
_DOCKER = pattern(r"^docker (run|restart|inspect|context)\b")
_OTHER_VENDOR = pattern(r"amd|rocm|radeon|intel|i915|\bxe\b")
_VERSION = pattern(r"['\"]|[=<>]=?.*|-cu\d+$")
_WINDOWS = "If the driver does not work: install NVIDIA's current driver on Windows, then restart WSL."


def distinct(own: Sequence[FixEntry], known: Sequence[FixEntry]) -> tuple[FixEntry, ...]:
    """What a message's own words advise, then what its row does, without what does or installs the same."""
    done = [_installed(fix) for fix in own]
    commands = [{*fix.commands} for fix in own if fix.commands]
    new = (fix for fix in known if not any(words <= {*fix.commands} for words in commands))
    rest = (fix for fix in new if not any(names and names <= _installed(fix) for names in done))
    return tuple(dict.fromkeys((*own, *rest)))


def _installed(fix: FixEntry) -> frozenset[str]:
    """The packages that its first command installs with pip, without their versions; empty where it does not."""
    words = fix.commands[0].split() if fix.commands else []
    if "install" not in words[:4] or "pip" not in words[:3]:
        return frozenset()
    names = words[words.index("install") + 1 :]
    return frozenset(_VERSION.sub("", name) for name in names if not name.startswith("-") and "/" not in name)


def fitting(fixes: Sequence[FixEntry], facts: Facts) -> tuple[FixEntry, ...]:
    """The steps for a machine: without those that cannot be taken there; in a container those of its host last.

    Args:
        fixes: what a row advises, for any machine.
        facts: of the machine; what is unknown of it drops nothing.
    """
    container, wsl = in_container(facts), isinstance(facts.host.wsl, int)
    here: list[FixEntry] = []
    host: list[FixEntry] = []
    for fix in fixes:
        if _is_elsewhere(fix.message, facts):
            continue
        (host if (container or wsl) and _is_of_host(fix, container) else here).append(fix)
    here = [kept for fix in here if (kept := _kept(fix, facts)) is not None]
    here.sort(key=lambda one: _order(one.message, facts))
    if container and host and any(fix.message.startswith("Then ") for fix in fixes):
        return on_host(fixes)  # steps that follow each other keep their order
    if container:
        return (*here, *map(_of_host, host))
    commands = " ".join(command for fix in host for command in fix.commands)
    if commands and not _OTHER_VENDOR.search(commands) and not (here and gpus_of(facts)):
        here.append(entry(windows_driver(_WINDOWS), facts))
    return tuple(here)


def of_engine(row: Symptom, facts: Facts | None) -> bool:
    """Whether this is a container, and a message is of what starts containers: nothing in here is its cause.

    Containers that hold a whole system start others themselves.
    """
    return (
        facts is not None and in_container(facts) and facts.host.container not in _SYSTEMS and row.program in _ENGINES
    )


def on_host(fixes: Sequence[FixEntry]) -> tuple[FixEntry, ...]:
    """A row's steps as they are shown within a container, all of them for its host: in their own order."""
    return tuple(map(_of_host, fixes))


def _is_elsewhere(message: str, facts: Facts) -> bool:
    """Whether a step is taken elsewhere, or is for a machine on which no driver responds."""
    pod = facts.host.kubernetes
    if _CONTAINER.match(message) and _runs_no_containers(facts, message.startswith("In Kubernetes")):
        return True
    if message.startswith("A kernel built with clang") and isinstance(facts.host.kernel.compiler, str):
        return not facts.host.kernel.compiler.startswith("clang")
    if (named := _OTHERS.match(message)) is not None and _is_other(named[1].lower(), facts):
        return True
    if "(not Ubuntu)" in message and "ubuntu" in (facts.host.distribution.id, *facts.host.distribution.like):
        return True
    if in_container(facts) and isinstance(pod, bool) and message.startswith("In Docker" if pod else "In Kubernetes"):
        return True
    if _DRIVERLESS.search(message) and gpus_of(facts, "nvidia"):
        return True
    if _WSL.match(message):
        return facts.host.wsl is None
    return _CONDA.match(message) is not None and _without_conda(facts)


def _runs_no_containers(facts: Facts, pods: bool) -> bool:
    """Whether this is no container, and none can be started here: no client of an engine, for pods no kubelet."""
    if facts.host.container is not None or facts.cluster.kubelet is not False:
        return False
    return pods or (facts.containers.docker is None and facts.containers.podman is None)


def _is_other(named: str, facts: Facts) -> bool:
    """Whether a step is for another distribution than this one, as far as that is known."""
    own = facts.host.distribution
    if isinstance(own.id, Unknown):
        return False
    ids = {own.id, *own.like}
    return named not in ids or (named == "debian" and "ubuntu" in ids)


def _without_conda(facts: Facts) -> bool:
    """Whether no checked environment is one of conda's."""
    managers = {one.manager for one in facts.pythons}
    return bool(managers) and not any(isinstance(one, Unknown) or one in ("conda", "pixi") for one in managers)


def _order(message: str, facts: Facts) -> int:
    """What begins with where it is taken comes first there, and last elsewhere."""
    if _CONTAINER.match(message):
        return -1 if in_container(facts) else int(facts.host.container is None)
    return -1 if _WSL.match(message) and isinstance(facts.host.wsl, int) else 0


def _is_of_host(fix: FixEntry, container: bool) -> bool:
    """Whether a step is taken where the kernel and the driver are, or the engine that starts containers."""
    if _CONTAINER.match(fix.message):
        return False
    return any(_HOST.search(one) or (container and _ENGINE.search(one)) for one in fix.commands)


def _kept(fix: FixEntry, facts: Facts) -> FixEntry | None:
    """A step with the commands that this machine has; None: it is for another distribution."""
    message = fix.message
    if facts.host.container is None and facts.host.wsl is None and (rest := _ITSELF.sub("", message)) != message:
        message = rest[:1].upper() + rest[1:]
    left = tuple(_by_checked(one, fix, facts) for one in fix.commands if _has(one, facts))
    if len(left) < len(fix.commands):
        if _OTHERS.match(message) or all(one.startswith("conda ") for one in fix.commands):
            return None
        if "third" in message:  # what is left could not be distinguished
            return fix
        message = _NAMED.sub("", message)
    if facts.host.user.uid == 0:
        left = tuple(_SUDO.sub("", one) for one in left)
    return msgspec.structs.replace(fix, message=message, commands=left)


def _by_checked(command: str, fix: FixEntry, facts: Facts) -> str:
    """The command for the interpreter that was checked, where it is one into which packages can be installed."""
    found = [python for python in facts.pythons if python.error is None]
    asks = any(_WHICH in one for one in fix.commands)  # which Python runs is what the step is about
    if asks or len(found) != 1 or found[0].externally_managed is True or facts.host.system == "Windows":
        return command
    path = shlex.quote(found[0].path)
    if manager_of(found[0]) == "uv":
        command = _PIP.sub(lambda match: f"uv pip {match[1]} --python {path}", command)
    return _PYTHON.sub(lambda _: path, command)


def _has(command: str, facts: Facts) -> bool:
    """Whether a command can be there: its package manager, its distribution, its container engine."""
    if facts.host.kubernetes is True and _DOCKER.match(command):
        return False
    if isinstance(facts.host.wsl, int) and (_HOST.search(command) or _PCI.search(command)):
        return False
    if command.startswith("conda ") and _without_conda(facts):
        return False
    family, distribution = family_of(facts), facts.host.distribution
    if family is None:
        return True
    if _UBUNTU.search(command) and "ubuntu" not in (distribution.id, *distribution.like):
        return False
    if (pinned := _PINNED.search(command)) is not None and _has_branch(pinned[1], facts):
        return False
    needed = {name for name, found in _FAMILIES if found.search(command)}
    return not needed or family in needed


def _has_branch(number: str, facts: Facts) -> bool:
    """Whether the driver of a branch is the one that is here: installing it again changes nothing."""
    here = (facts.nvidia.kernel.loaded, facts.nvidia.nvml.driver_version)
    loaded = any(isinstance(one, str) and one.partition(".")[0] == number for one in here)
    return loaded or any(name.startswith(f"nvidia-driver-{number}") for name in driver_packages(facts))


def _of_host(fix: FixEntry) -> FixEntry:
    """A step as it is shown within a container: it is the host that has a kernel and a driver."""
    message = _ITSELF.sub("", fix.message)
    if "the host" not in message and not message.startswith(("On the node", "Then ")):
        after = "," if _CONDITION.match(message) else ":"
        message = f"On the host{after} {message[:1].lower()}{message[1:]}"
    commands = typed(fix.tasks) if fix.tasks else fix.commands
    return msgspec.structs.replace(fix, message=message, commands=commands, place="outside", as_root=False)
