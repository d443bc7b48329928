"""What NCCL's own configuration files set, and between how many GPUs a graph that it is given is."""

from collections.abc import Iterator

from gpudoctor.facts.host import NcclSetting
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.probes.host import user as host_user

# NCCL's src/misc/param.cc, initEnv: the user's file, then the system's; a variable that is set already stays.
SYSTEM = "/etc/nccl.conf"
GRAPH = "NCCL_GRAPH_FILE"
_DEVICE = pattern(r'<gpu\s[^>]*\bdev="(\d+)"')


def settings(machine: Machine) -> tuple[NcclSetting, ...]:
    """Read the files; the first that sets a name wins, and the environment before both."""
    found: dict[str, NcclSetting] = {}
    if graph := machine.env.get(GRAPH):
        found[GRAPH] = NcclSetting(name=GRAPH, value=graph, file=None, gpus=_gpus(machine, graph))
    for file in _files(machine):
        for name, value in _lines(machine, file):
            if name not in machine.env:
                gpus = _gpus(machine, value) if name == GRAPH else None
                found.setdefault(name, NcclSetting(name=name, value=value, file=file, gpus=gpus))
    return tuple(found.values())


def _files(machine: Machine) -> tuple[str, ...]:
    home = host_user.home(machine)
    return (f"{home}/.nccl.conf", SYSTEM) if isinstance(home, str) and home else (SYSTEM,)


def _lines(machine: Machine, file: str) -> Iterator[tuple[str, str]]:
    try:
        text = machine.text(file)
    except OSError:
        return  # NCCL itself opens it as this user, and goes on without what it cannot read
    for line in text.splitlines():
        name, equals, value = line.partition("=")  # a blank before "=" belongs to the name
        if equals and name.startswith("NCCL_") and name == name.rstrip():
            yield name, value.strip()


def _gpus(machine: Machine, file: str) -> Maybe[int | None]:
    """How many GPUs the channels of a graph name; None where the file is no graph."""
    try:
        text = machine.text(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Unknown(f"{file}: {error.strerror or error}")
    return len({found[1] for found in _DEVICE.finditer(text)}) or None if "<graph" in text else None
