"""The journal's lines of services since boot, reduced to messages that are known to be errors of GPUs.

What the kernel wrote is the kernel log's (gpudoctor.probes.kernel_log).
"""

import re
from collections.abc import Iterable

import msgspec

from gpudoctor.facts.service_log import ServiceLine, ServiceLog
from gpudoctor.knowledge.services import ServiceEntry, services
from gpudoctor.knowledge.symptoms import Symptom, recognise
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Unknown

SECONDS = 2.0
LINES, BYTES = 4000, 1 << 20  # the newest
LONGEST, SHOWN = 4000, 300  # letters of a line that are read, and that are kept
MOST = 8  # messages of one service
# "[   12.3] host ollama[2101]: text" (short-monotonic); a date may stand there instead, or nothing.
_HEAD = pattern(
    r"(?:\[ *(\d{1,10}\.\d{1,9})\] )?(?:\S{1,64} {1,2}){0,5}?([\w.@+/-]{1,64})(?:\[(\d{1,10})\])?: (.*)", re.DOTALL
)
_UNIT = pattern(r"(?:Started|Starting|Stopped|Finished) ")
_UNREADABLE = Unknown("the journal of services cannot be read")
_ESCAPES = pattern(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)")


def probe(machine: Machine, wanted: bool) -> ServiceLog:
    """Return the known messages of each service since it was last started.

    Args:
        machine: where to look.
        wanted: whether there is a GPU; without one nothing is read, because no message can be about it.
    """
    if not wanted:
        return ServiceLog(lines=())
    if not machine.here or machine.which("journalctl") is None:
        return ServiceLog(lines=_UNREADABLE)
    named = [word for one in services() for name in one.identifiers for word in ("-t", name)]
    argv = ["journalctl", "-b", "-p", "info", "-n", str(LINES), "--no-pager", "-o", "short-monotonic"]
    # patient: one that is late here may still be asked for the kernel's log.
    ended = machine.run([*argv, "-t", "systemd", *named], SECONDS, patient=True)
    lines = [line for line in ended.out[-BYTES:].splitlines() if not line.startswith("-- ")]
    # Who may not read the system's journal gets his own, which has lines of `systemd --user`; the first process writes
    # into the system's alone. For root the newest lines may be without one.
    system = machine.ids()[0] == 0 or any("systemd[1]: " in line for line in lines)
    return ServiceLog(lines=messages(lines) if ended.ok and lines and system else _UNREADABLE)


class _Reader:
    """Takes the lines in their order."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, ServiceLine]] = {}
        self._by_name = {name: one for one in services() for name in one.identifiers}
        self._units = [(re.compile(one.started), one.unit) for one in services() if one.unit]
        self._works = {one.unit: re.compile(one.works) for one in services() if one.works}
        self._processes: dict[str, str | None] = {}

    def line(self, line: str) -> None:
        """Read a line."""
        head = _HEAD.match(line[:LONGEST])
        if head is None:
            return
        seconds, identifier, process, text = head.groups()
        if identifier == "systemd":
            self._started(text)
        elif (service := self._by_name.get(identifier)) is not None:
            self._written(service, service.unit or identifier, process, text, float(seconds) if seconds else None)

    def _started(self, text: str) -> None:
        if _UNIT.match(text) is not None:
            for started, unit in self._units:
                if unit in self.found and started.search(text.lower()):
                    del self.found[unit]

    def _written(self, service: ServiceEntry, name: str, process: str | None, text: str, seconds: float | None) -> None:
        if not service.unit and self._processes.get(name, process) != process:
            self.found.pop(name, None)  # another one was started: it has the trouble, too, or it is over
        self._processes[name] = process
        if service.unit in self._works and self._works[service.unit].search(text.lower()):
            self.found.pop(name, None)
            return
        row = recognise(text)
        if row is None or not service.reports(row):
            return
        known = self.found.setdefault(name, {})
        if row.id in known:
            known[row.id] = msgspec.structs.replace(known[row.id], seconds=seconds, times=known[row.id].times + 1)
        elif len(known) < MOST:
            known[row.id] = ServiceLine(service=name, symptom=row.id, text=_shown(text, row), seconds=seconds)


def messages(lines: Iterable[str]) -> tuple[ServiceLine, ...]:
    """Return the known messages of the journal's lines: of each service those since it was last started."""
    reader = _Reader()
    for line in lines:
        reader.line(line)
    return tuple(one for known in reader.found.values() for one in known.values())


def _shown(text: str, row: Symptom) -> str:
    """The part of a line in which the message is, harmless to a terminal."""
    low = text.lower()
    place = min((at for part in row.has if (at := low.find(part)) >= 0), default=0)
    begin = 0 if place < SHOWN // 2 else text.find(" ", place - SHOWN // 3, place) + 1 or place
    plain = _ESCAPES.sub("", text[begin : begin + SHOWN])
    return " ".join("".join(letter if letter.isprintable() else " " for letter in plain).split())
