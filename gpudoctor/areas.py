"""Says of which checks a machine has no targets, so that their files need not be read.

A gate is never narrower than the targets of its area's checks: where it is closed, each of them would be skipped.
Within an open area, `target_index` names the function that gives a check its targets.

A check may also name facts without which it finds nothing (`only_with`), each as paths in the tree of facts, separated
by blanks, of which one has to lead to something: "pythons.unmet", "gpus.vendor=amd", "host.environment=CUDA_HOME". A
path leads to something where any of its values is not empty, is one of those after "=" (separated by commas; "*" at the
end of one stands for more; of a dictionary it is the keys), or is unknown. With "?" at its end it asks for the latter
alone. One with ":" names a function that gives targets.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any

from gpudoctor.check_engine import Targets
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from gpudoctor.name_pattern import any_stands_for
from gpudoctor.registry import AREAS, Area, Condition
from gpudoctor.target_index import ONLY_WITH, TARGETS
from gpudoctor.targets import has_amd, has_dxg, wants_nvidia


def _uses(facts: Facts, framework: str) -> bool:
    return any(found.name == framework for python in facts.pythons for found in python.frameworks)


def _windows(facts: Facts) -> bool:
    return isinstance(facts.host.wsl, int) or has_dxg(facts)


def _shared(facts: Facts) -> bool:
    found = facts.cluster
    of_pods = found.kubelet is True or found.cri_disabled is not None or found.newer_drop_in is not None
    of_jobs = isinstance(found.scheduler, str) or isinstance(found.client, str) or found.slurm_node is not None
    return of_jobs or of_pods


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
    "ollama": lambda facts: isinstance(facts.ollama.program, str),
    "llama-cpp": lambda facts: isinstance(facts.llama_cpp.program, str),
}


def _gate(area: Area) -> Callable[[Facts], bool] | None:
    """What opens an area; None: it is always open."""
    if area.framework:
        return partial(_uses, framework=area.framework)
    return _CONDITIONS[area.condition] if area.condition else None


def on_request(id_: str) -> bool:
    """Whether a check runs only where somebody selects it or its area."""
    return id_.partition(".")[0] in _ON_REQUEST


_ON_REQUEST = frozenset(area.name for area in AREAS if area.on_request)
GATES = {area.name: gate for area in AREAS if (gate := _gate(area))}
_INDEX = {id_: place for place, ids in TARGETS.items() for id_ in ids.split()}


def likely(id_: str, gpu: bool) -> bool:
    """Whether a check will most likely be read, which may be done before there are facts.

    Args:
        id_: of the check.
        gpu: whether the machine seems to have a GPU with a driver.
    """
    if id_.split(".")[0] in GATES or id_ in _INDEX:
        return False
    _, *paths = ONLY_WITH.get(id_, ("",))
    return all(gpu and "gpus" in each.split() for each in paths)


def concerning(facts: Facts) -> Callable[[str], bool]:
    """What says of a check's id whether a machine has anything that the check is about."""

    @cache
    def opened(area: str) -> bool:
        gate = GATES.get(area)
        return gate is None or gate(facts)

    @cache
    def has(place: str) -> bool:
        return _gives(place, facts)

    def concerned(id_: str) -> bool:
        return opened(id_.split(".")[0]) and (id_ not in _INDEX or has(_INDEX[id_]))

    return concerned


def finding_nothing(facts: Facts) -> Callable[[str], Targets[Any] | None]:
    """What gives the targets on which the check of an id passes for want of facts; None: it may find something."""

    @cache
    def values(path: str) -> tuple[object, ...]:
        return tuple(_values(facts, path.split(".")))

    @cache
    def texts(path: str) -> frozenset[str]:
        return frozenset(map(str, values(path)))

    @cache
    def leads_on(path: str) -> bool:
        if ":" in path:
            return _gives(path, facts)
        place, _, wanted = path.partition("=")
        found = values(place.rstrip("?"))
        if any(isinstance(one, Unknown) for one in found):
            return True
        if not wanted:
            return not place.endswith("?") and any(found)
        names = tuple(wanted.split(","))
        return any(any_stands_for(names, text) for text in texts(place))

    @cache
    def there(paths: str) -> bool:
        return any(map(leads_on, paths.split()))

    def passed(id_: str) -> Targets[Any] | None:
        place, *paths = ONLY_WITH.get(id_, ("",))
        return None if all(map(there, paths)) else _targets(place)

    return passed


def _values(thing: Any, names: Sequence[str]) -> Iterator[object]:
    """The values at the end of a path in the tree of facts, and what is unknown on the way to one."""
    if isinstance(thing, tuple):
        for one in thing:
            yield from _values(one, names)
    elif isinstance(thing, Unknown) or not names:
        yield from thing if isinstance(thing, dict) else (thing,)
    elif thing is not None:
        yield from _values(getattr(thing, names[0]), names[1:])


def _targets(place: str) -> Targets[Any]:
    """The function that a place of the index names: "module:name", with what it is given; none for ""."""
    if not place:
        return lambda _: ()
    module, name, *given = place.split(":")
    function: Callable[..., Any] = getattr(import_module(f"gpudoctor.{module}"), name)
    return lambda facts: function(facts, *given)


# Modules whose functions give no target without AMD hardware: only a machine with some imports them.
_OF_AMD = ("queries.amd_boards:", "queries.amd_driver:", "queries.gfx:", "queries.rocr:")


def _gives(place: str, facts: Facts) -> bool:
    """Whether the function of a place gives targets."""
    if place.startswith(_OF_AMD) and not isinstance(facts.gpus, Unknown) and not has_amd(facts):
        return False
    try:
        return any(True for _ in _targets(place)(facts))
    except Exception:  # a fact is unknown, or it is broken: the check reports it
        return True
