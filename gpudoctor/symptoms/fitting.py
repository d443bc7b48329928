"""Which steps of a message's row can be typed on a machine, and in which order: in WSL no Linux driver is installed."""

from collections.abc import Sequence

import msgspec

from gpudoctor.facts import Facts
from gpudoctor.fixes.system import family_of
from gpudoctor.fixes.wsl import windows_driver
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import Unknown
from gpudoctor.report.fixes import entry
from gpudoctor.report.model import FixEntry
from gpudoctor.targets import in_container

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
_UBUNTU = pattern(r"\bubuntu-drivers\b|linux-(headers-)?generic")
# What a step says of distributions, superfluous once only this machine's commands are left.
_NAMED = pattern(r" \((?=[^)]*\b(?:Debian|Ubuntu|Fedora|RHEL)\b)[^)]*\)")
_OTHERS = pattern(r"(On|Install them on) (Debian|Fedora|RHEL)\b")
_ITSELF = pattern(r"^On the machine(?: itself)?(?: \(Ubuntu\))?: ")
_SUDO = pattern(r"\bsudo (?=[^-])")
_CONTAINER, _WSL, _CONDA = pattern(r"^In a container\b"), pattern(r"^In WSL\b"), pattern(r"^(?:In|With) conda\b")
_DOCKER = pattern(r"^docker (run|restart|inspect|context)\b")
_OTHER_VENDOR = pattern(r"amd|rocm|radeon|intel|i915|\bxe\b")
_VERSION = pattern(r"(?<=/whl/)\w+|['\"]?[=<>]=[\w.*]+['\"]?|(?<=-cu)\d+")
_WINDOWS = "If the driver does not work: install NVIDIA's current driver on Windows, then restart WSL."


def distinct(own: Sequence[FixEntry], known: Sequence[FixEntry]) -> tuple[FixEntry, ...]:
    """What a message's own words advise, then what its row does without what differs by a version or an index only."""
    done = {tuple(_VERSION.sub("", command) for command in fix.commands) for fix in own if fix.commands}
    rest = (fix for fix in known if tuple(_VERSION.sub("", command) for command in fix.commands) not in done)
    return tuple(dict.fromkeys((*own, *rest)))


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
        if (_WSL.match(fix.message) and facts.host.wsl is None) or (
            _CONDA.match(fix.message) and _without_conda(facts)
        ):
            continue
        (host if (container or wsl) and _is_of_host(fix, container) else here).append(fix)
    here = [kept for fix in here if (kept := _kept(fix, facts)) is not None]
    if container or wsl:
        first = _CONTAINER if container else _WSL
        here.sort(key=lambda one: first.match(one.message) is None)
    if container:
        return (*here, *map(_of_host, host))
    commands = " ".join(command for fix in host for command in fix.commands)
    if commands and not _OTHER_VENDOR.search(commands):
        here.append(entry(windows_driver(_WINDOWS), facts))
    return tuple(here)


def _without_conda(facts: Facts) -> bool:
    """Whether no checked environment is one of conda's."""
    managers = {one.manager for one in facts.pythons}
    return bool(managers) and not any(isinstance(one, Unknown) or one in ("conda", "pixi") for one in managers)


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
    left = tuple(one for one in fix.commands if _has(one, facts))
    if len(left) < len(fix.commands):
        if _OTHERS.match(message):
            return None
        if "third" in message:  # what is left could not be told apart
            return fix
        message = _NAMED.sub("", message)
    if facts.host.user.uid == 0:
        left = tuple(_SUDO.sub("", one) for one in left)
    return msgspec.structs.replace(fix, message=message, commands=left)


def _has(command: str, facts: Facts) -> bool:
    """Whether a command can be there: its package manager, its distribution, its container engine."""
    if facts.host.container == "kubernetes" and _DOCKER.match(command):
        return False
    if isinstance(facts.host.wsl, int) and _HOST.search(command):
        return False
    family, distribution = family_of(facts), facts.host.distribution
    if family is None:
        return True
    if _UBUNTU.search(command) and "ubuntu" not in (distribution.id, *distribution.like):
        return False
    needed = {name for name, found in _FAMILIES if found.search(command)}
    return not needed or family in needed


def _of_host(fix: FixEntry) -> FixEntry:
    """A step as it is told within a container: it is the host that has a kernel and a driver."""
    message = _ITSELF.sub("", fix.message)
    message = message if "the host" in message else f"On the host: {message[:1].lower()}{message[1:]}"
    return msgspec.structs.replace(fix, message=message, place="outside")
