"""The steps of a message's row for a machine, in an order that fits: in a container those of its host last."""

from collections.abc import Sequence

import msgspec

from gpudoctor.facts import Facts
from gpudoctor.fixes.row_steps import ITSELF, is_elsewhere, is_of_host, kept, order
from gpudoctor.fixes.wsl import windows_driver
from gpudoctor.knowledge.symptoms import Symptom
from gpudoctor.lazy_regex import pattern
from gpudoctor.report.fixes import entry
from gpudoctor.report.model import FixEntry
from gpudoctor.targets import gpus_of, in_container
from gpudoctor.tasks.as_typed import typed

# Programs of the host that start containers, as the rows name them.
_ENGINES = (
    *("NVIDIA Container Toolkit", "CDI", "Docker", "Docker Compose", "Podman", "Apptainer"),
    *("containerd", "Kubernetes", "NVIDIA's GPU Operator"),
)
_SYSTEMS = ("lxc", "systemd-nspawn")
_CONDITION = pattern(r"(If|Without|For|On|With|Otherwise|Then|In) ")
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
        if is_elsewhere(fix.message, facts):
            continue
        (host if (container or wsl) and is_of_host(fix, container) else here).append(fix)
    here = [one for fix in here if (one := _kept(fix, facts)) is not None]
    here.sort(key=lambda one: order(one.message, facts))
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


def _of_host(fix: FixEntry) -> FixEntry:
    """A step as it is shown within a container: it is the host that has a kernel and a driver."""
    message = ITSELF.sub("", fix.message)
    if "the host" not in message and not message.startswith(("On the node", "Then ")):
        after = "," if _CONDITION.match(message) else ":"
        message = f"On the host{after} {message[:1].lower()}{message[1:]}"
    commands = typed(fix.tasks) if fix.tasks else fix.commands
    return msgspec.structs.replace(fix, message=message, commands=commands, place="outside", as_root=False)


def _kept(fix: FixEntry, facts: Facts) -> FixEntry | None:
    found = kept(fix, facts)
    return None if found is None else msgspec.structs.replace(fix, message=found.message, commands=found.commands)
