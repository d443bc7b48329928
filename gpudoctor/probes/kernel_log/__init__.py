"""The kernel's log since boot: read where it may be read, and reduced to the messages about GPUs."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gpudoctor.facts.host import Host
from gpudoctor.facts.kernel_log import KernelLog, LogEvent
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers.numbers import seconds

if TYPE_CHECKING:
    from gpudoctor.probes.kernel_log.lines import Message

# What a driver of a GPU leaves where no GPU is on the bus any more: fallen off, powered down, or behind WSL.
TRACES = (
    "/sys/module/nvidia",
    "/sys/module/amdgpu",
    "/sys/module/nouveau",
    "/sys/module/bbswitch",
    "/dev/nvidiactl",
    "/dev/nvmap",
    "/dev/kfd",
    "/dev/dxg",
    "/usr/bin/nvidia-smi",
    "/opt/rocm",
)
# Of the same kind, GPU and code this many of the first and of the last are kept: a broken link writes thousands.
EACH_END = 20
# And of all kinds together.
EACH_END_OF_ALL = 400


def probe(machine: Machine, host: Host, vendors: frozenset[str]) -> KernelLog:
    """Return the recognised messages of the log since boot.

    Args:
        machine: where to look.
        host: what machine it is: a container is told to ask its host.
        vendors: the PCI vendors of the machine's GPUs. Without any, and without a driver's traces, nothing is
            read, and no event is the truth: whatever the log says, it is not about a GPU.
    """
    if not vendors and not any(machine.exists(path) for path in TRACES):
        return KernelLog(source=None, events=(), first=None)
    tried: list[str] = []
    for source, read in (("/dev/kmsg", _kmsg), ("journalctl", _journal), ("dmesg", _dmesg)):
        found = read(machine)
        if isinstance(found, str):
            tried.append(f"{source}: {found}")
        else:
            return KernelLog(source=source, events=events(found), first=_first(found), now=_now(machine))
    why = Unknown(f"The kernel log cannot be read ({'; '.join(tried)}). {_permit(host)}")
    return KernelLog(source=None, events=why, first=why)


def _permit(host: Host) -> str:
    if host.container:
        return "On the host, run: sudo dmesg"
    return "Run with sudo, or as a member of the group systemd-journal or adm."


def _first(messages: "list[Message]") -> Maybe[float]:
    first = next((m.seconds for m in messages if m.seconds is not None), None)
    return Unknown("the log has no times") if first is None else first


def _now(machine: Machine) -> Maybe[float]:
    """Seconds since boot, on the clock of the log's times; a container of LXC's shows its own age here."""
    found = seconds((machine.line("/proc/uptime") or "").partition(" ")[0])
    return Unknown("/proc/uptime cannot be read") if found is None else found


# What takes lines apart is imported where there is a log to read: not on machines without a GPU.
def _kmsg(machine: Machine) -> "list[Message] | str":
    from gpudoctor.probes.kernel_log import lines as log_lines

    try:
        lines = machine.kmsg()
    except OSError as error:
        return error.strerror or str(error)
    return log_lines.from_kmsg(lines)


def _journal(machine: Machine) -> "list[Message] | str":
    from gpudoctor.probes.kernel_log import lines as log_lines

    if machine.which("journalctl") is None:
        return "not installed"
    ended = machine.run(["journalctl", "-k", "-b", "--no-pager", "-o", "short-monotonic"])
    lines = [line for line in ended.out.splitlines() if not line.startswith("-- ")]
    if ended.ok and lines:
        return log_lines.from_text(lines)
    # A user outside of systemd-journal and adm sees an empty log and a hint; so does a system without one.
    said = ended.err.strip() or ended.missing or ("it timed out" if ended.timed_out else "it is empty")
    return said.splitlines()[0]


def _dmesg(machine: Machine) -> "list[Message] | str":
    from gpudoctor.probes.kernel_log import lines as log_lines

    ended = machine.run(["dmesg"])
    if ended.ok:
        return log_lines.from_text(ended.out.splitlines())
    said = (
        ended.err.strip()
        or ended.missing
        or ("it timed out" if ended.timed_out else (f"it exited with code {ended.code}"))
    )
    return said.splitlines()[0].removeprefix("dmesg: ")


def events(messages: "Iterable[Message]") -> tuple[LogEvent, ...]:
    """Return the recognised messages in their order, of each kind, GPU and code the first and last ones."""
    from gpudoctor.probes.kernel_log import lines as log_lines

    groups: dict[tuple[str, str | None, int | None], list[tuple[int, LogEvent]]] = {}
    for number, event in enumerate(e for message in messages for e in log_lines.recognised(message)):
        group = groups.setdefault((event.kind, event.gpu, event.code), [])
        group.append((number, event))
        if len(group) > 2 * EACH_END:
            del group[EACH_END]
    kept = sorted((pair for group in groups.values() for pair in group), key=lambda pair: pair[0])
    if len(kept) > 2 * EACH_END_OF_ALL:
        kept = kept[:EACH_END_OF_ALL] + kept[-EACH_END_OF_ALL:]
    return tuple(event for _, event in kept)
