"""Which steps of a message's row can be typed on a machine: in WSL no Linux driver is installed."""

import shlex
from typing import Protocol

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes.python import manager_of
from gpudoctor.fixes.system import driver_packages, family_of
from gpudoctor.knowledge.symptoms import Symptom, SymptomFix
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import Unknown
from gpudoctor.targets import gpus_of, in_container
from gpudoctor.tasks import Manual

# What changes the kernel, its modules or the driver's packages, which neither a container nor WSL has.
_HOST = pattern(
    r"\b(ubuntu-drivers|(nvidia-)?modprobe|rmmod|dkms|akmods?|kmodgenca|mokutil|dracut|update-initramfs|update-grub|grubby"
    r"|reboot|poweroff|akmod-nvidia|nvidia-driver|nvidia-open|linux-(headers|generic|firmware)|kernel-devel"
    r"|nvidia-fabric-?manager|nvidia-gridd|nvidia-persistenced|amdgpu-install)\b"
    r"|/etc/modprobe\.d|kernel command line|--gpu-?reset|systemctl (isolate|set-default)|nvidia-smi -(pl|pm|c|mig|r)\b"
)
# What sets up the engine that starts containers, which no container has.
_ENGINE = pattern(r"\b(nvidia-ctk|nvidia-container-toolkit|snap|systemctl restart (docker|containerd|crio))\b")
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
ITSELF = pattern(r"^On the machine(?: itself)?(?: \(Ubuntu\))?: ")
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


class RowStep(Protocol):
    """A step of a row, or what a report has made of it."""

    @property
    def message(self) -> str:
        """A sentence."""
        ...

    @property
    def commands(self) -> tuple[str, ...]:
        """What is typed."""
        ...


def steps(row: Symptom, facts: Facts) -> tuple[Fix, ...]:
    """The steps of a row as fixes for a machine that is neither a container nor WSL.

    Nobody but a person runs them: they are written for all machines, and some have words to fill in.

    Args:
        row: of a message that was written here.
        facts: of the machine; what is unknown of it drops nothing.
    """
    here = [one for fix in row.fixes if not is_elsewhere(fix.message, facts) and (one := kept(fix, facts)) is not None]
    here.sort(key=lambda one: order(one.message, facts))
    return tuple(
        Fix(one.message, tuple(map(Manual, one.commands)), root=any("sudo " in line for line in one.commands))
        for one in here
    )


def is_elsewhere(message: str, facts: Facts) -> bool:
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


def order(message: str, facts: Facts) -> int:
    """What begins with where it is taken comes first there, and last elsewhere."""
    if _CONTAINER.match(message):
        return -1 if in_container(facts) else int(facts.host.container is None)
    return -1 if _WSL.match(message) and isinstance(facts.host.wsl, int) else 0


def is_of_host(fix: RowStep, container: bool) -> bool:
    """Whether a step is taken where the kernel and the driver are, or the engine that starts containers."""
    if _CONTAINER.match(fix.message):
        return False
    return any(_HOST.search(one) or (container and _ENGINE.search(one)) for one in fix.commands)


def kept(fix: RowStep, facts: Facts) -> SymptomFix | None:
    """A step with the commands that this machine has; None: it is for another distribution."""
    message = fix.message
    if facts.host.container is None and facts.host.wsl is None and (rest := ITSELF.sub("", message)) != message:
        message = rest[:1].upper() + rest[1:]
    left = tuple(_by_checked(one, fix, facts) for one in fix.commands if _has(one, facts))
    if len(left) < len(fix.commands):
        if _OTHERS.match(message) or all(one.startswith("conda ") for one in fix.commands):
            return None
        if "third" in message:  # what is left could not be distinguished
            return SymptomFix(fix.message, fix.commands)
        message = _NAMED.sub("", message)
    if facts.host.user.uid == 0:
        left = tuple(_SUDO.sub("", one) for one in left)
    return SymptomFix(message, left)


def _by_checked(command: str, fix: RowStep, facts: Facts) -> str:
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
