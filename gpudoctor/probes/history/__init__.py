"""What was changed and when: asked after all other probes, and only where something is broken that it may explain."""

from collections.abc import Iterable, Iterator

from gpudoctor.facts import Facts
from gpudoctor.facts.history import ChangeHistory, RecordedChange
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.probes import driver_fails
from gpudoctor.probes.history import clock, files, frameworks, rpm

_KEPT = 300  # changes, the newest: a driver's upgrade has some twenty


def probe(machine: Machine, facts: Facts) -> ChangeHistory:
    """Read the records; `facts` are all others, by which it is decided what is read."""
    zone = clock.zone(machine)
    changes: Maybe[tuple[RecordedChange, ...]] = ChangeHistory().packages
    if driver_fails(facts):
        changes = packages(machine, zone)
    return ChangeHistory(
        packages=changes,
        boot=clock.boot(machine, zone),
        builds=tuple(frameworks.probe(machine, facts, zone)),
    )


def packages(machine: Machine, zone: clock.Zone) -> Maybe[tuple[RecordedChange, ...]]:
    """The changes of packages that matter for GPUs, oldest first; unknown where no record of them is here."""
    found = [*files.changes(machine), *rpm.changes(machine, zone)]
    if not found and not any(map(machine.exists, (*files.SOURCES, *rpm.SOURCES))):
        return Unknown("no package manager's log is here")
    return tuple(sorted(_once(found), key=lambda change: change.time)[-_KEPT:])


def _once(found: Iterable[RecordedChange]) -> Iterator[RecordedChange]:
    """Each change as the first record has it: dpkg repeats what apt did, without who asked for it."""
    seen = set()
    for change in found:
        key = change.name, change.old if change.action == "remove" else change.new, change.time[:10]
        if key not in seen:
            seen.add(key)
            yield change
