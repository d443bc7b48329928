"""Says of which checks a machine has no targets, so that their files need not be read.

A gate is never narrower than the targets of its area's checks: where it is closed, each of them would be skipped.
Within an open area, `target_index` names the function that gives a check its targets.
"""

from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import import_module

from gpudoctor.facts import Facts
from gpudoctor.registry import AREAS, Area, Condition
from gpudoctor.target_index import TARGETS
from gpudoctor.targets import has_dxg, wants_nvidia


def _has(facts: Facts, framework: str) -> bool:
    return any(found.name == framework for python in facts.pythons for found in python.frameworks)


def _windows(facts: Facts) -> bool:
    return isinstance(facts.host.wsl, int) or has_dxg(facts)


def _shared(facts: Facts) -> bool:
    found = facts.cluster
    return isinstance(found.scheduler, str) or isinstance(found.client, str) or found.kubelet is True


def _rented(facts: Facts) -> bool:
    return isinstance(facts.cloud.provider, str) or isinstance(facts.cloud.notebook, str)


def _tested(facts: Facts) -> bool:
    return bool(facts.smoke.runs)


def _intel(facts: Facts) -> bool:
    from gpudoctor.queries.intel import concerned as intel

    return intel(facts)


_CONDITIONS: Mapping[Condition, Callable[[Facts], bool]] = {
    "nvidia": wants_nvidia,
    "windows-host": _windows,
    "scheduler": _shared,
    "cloud": _rented,
    "smoke-results": _tested,
    "intel": _intel,
    "macos": lambda facts: facts.host.system == "Darwin",
    "windows": lambda facts: facts.host.system == "Windows",
}


def _gate(area: Area) -> Callable[[Facts], bool] | None:
    """What opens an area; None: it is always open."""
    if area.framework:
        return partial(_has, framework=area.framework)
    return _CONDITIONS[area.condition] if area.condition else None


def on_request(id_: str) -> bool:
    """Whether a check runs only where somebody selects it or its area."""
    return id_.partition(".")[0] in _ON_REQUEST


_ON_REQUEST = frozenset(area.name for area in AREAS if area.on_request)
GATES = {area.name: gate for area in AREAS if (gate := _gate(area))}
_INDEX = {id_: place for place, ids in TARGETS.items() for id_ in ids.split()}


def always(id_: str) -> bool:
    """Whether every machine may have targets for a check."""
    return id_.split(".")[0] not in GATES and id_ not in _INDEX


def concerning(facts: Facts) -> Callable[[str], bool]:
    """What says of a check's id whether a machine has anything that the check is about."""

    @cache
    def opened(area: str) -> bool:
        gate = GATES.get(area)
        return gate is None or gate(facts)

    @cache
    def has(place: str) -> bool:
        module, name, *given = place.split(":")
        try:
            return any(True for _ in getattr(import_module(f"gpudoctor.{module}"), name)(facts, *given))
        except Exception:  # a fact is unknown, or it is broken: the check reports it
            return True

    def concerned(id_: str) -> bool:
        return opened(id_.split(".")[0]) and (id_ not in _INDEX or has(_INDEX[id_]))

    return concerned
