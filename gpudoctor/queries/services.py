"""Queries about what services wrote into the journal, answered from facts alone."""

from collections.abc import Iterator

import msgspec

from gpudoctor.check_engine import About
from gpudoctor.facts import Facts, ServiceLine
from gpudoctor.maybe import known, known_or
from gpudoctor.targets import amd_compute, cards_of, in_container, in_system_container, wants_nvidia

DAY = 86400.0


class OnService(msgspec.Struct, frozen=True):
    """The known messages of a service since it was last started."""

    facts: Facts
    lines: tuple[ServiceLine, ...]


def logging_services(facts: Facts) -> Iterator[tuple[About, OnService]]:
    """Each service with messages of the last day where a GPU is there, or wanted, for computing."""
    if facts.services.lines == () or facts.host.wsl is not None or not _computing(facts):
        return
    if in_container(facts) and not in_system_container(facts):
        return
    lines = known(facts.services.lines)
    from gpudoctor.knowledge.services import evidence  # tables that a machine without such lines does not need

    newest = tuple(one for one in lines if age(facts, one) <= DAY and one.symptom not in evidence())
    for name in dict.fromkeys(one.service for one in newest):
        yield About(name), OnService(facts, tuple(one for one in newest if one.service == name))


def _computing(facts: Facts) -> bool:
    discrete = any(card.integrated is False for card in cards_of(facts, "intel"))
    return discrete or wants_nvidia(facts) or any(amd_compute(facts))


def age(facts: Facts, line: ServiceLine) -> float:
    """Seconds since a message; 0 where nobody knows."""
    return max(0.0, known_or(facts.host.uptime, 0.0) - line.seconds) if line.seconds is not None else 0.0
