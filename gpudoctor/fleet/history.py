"""What is otherwise than in an earlier summary: nodes, causes, what most have, and medians beyond their noise."""

import math
from collections.abc import Container, Iterable, Iterator, Mapping

import msgspec

from gpudoctor.expect.measured_well import MARGIN, SIGMAS
from gpudoctor.fleet.faces.verdict import REPORTED, amount
from gpudoctor.fleet.nodesets import fold
from gpudoctor.fleet.reading.unfolding import MOST, unfolded
from gpudoctor.fleet.summary import STATES, Cause, Change, Fleet, Spread

ORDER = ("worse", "cause", "vanished", "figure", "fact", "appeared", "solved", "better")
# The standard error of a median of normal values is 1.2533 that of their mean, sqrt(pi / 2):
# M. G. Kendall and A. Stuart, The Advanced Theory of Statistics, volume 1, chapter 10 (Standard errors).
_OF_MEDIAN = math.sqrt(math.pi / 2)
# Of so many values a median has settled; below, it moves with each of them, as a single measurement does (MARGIN).
_SETTLED = 20
# A median that moved by less than this part is no matter to anybody: clocks follow the heat of a room.
_LEAST = 0.02
_PACKAGES = 8  # of more packages that changed on the same nodes the first is named, and the others are counted


def compared(now: Fleet, before: Fleet) -> Fleet:
    """The summary with what has changed since an earlier one."""
    return msgspec.structs.replace(now, changes=changes(before, now), since=before.newest or before.created)


def narrowed(before: Fleet, names: Container[str]) -> Fleet:
    """An earlier summary for a comparison of some nodes: without what is said of all of a group."""

    def left(folded: str, count: int) -> list[str]:
        return [node for node in unfolded(folded, count) if node in names]

    states = {state: left(nodes, before.counts.get(state, MOST)) for state, nodes in before.states.items()}
    having = [(cause, left(cause.nodes, cause.count)) for cause in before.causes]
    return msgspec.structs.replace(
        before,
        states={state: fold(nodes) for state, nodes in states.items()},
        counts={state: len(nodes) for state, nodes in states.items()},
        causes=tuple(msgspec.structs.replace(cause, nodes=fold(some), count=len(some)) for cause, some in having),
        groups=(),
        drifts=(),
        spreads=(),
    )


def changes(before: Fleet, now: Fleet) -> tuple[Change, ...]:
    """What has changed, what is bad first.

    Args:
        before: an earlier summary.
        now: the one of today.
    """
    earlier, today = _states(before), _states(now)
    found = [
        *_moved(earlier, today),
        *_came_and_went(earlier, today),
        *_causes(before, now, earlier, today),
        *_facts(before, now),
        *_figures(before, now),
    ]
    return tuple(sorted(found, key=lambda one: ORDER.index(one.kind)))


def _change(kind: str, says: str, nodes: Iterable[str]) -> Change:
    some = set(nodes)
    return Change(kind=kind, says=says, nodes=fold(some), count=len(some))


# -- nodes ---------------------------------------------------------------------------------------------------


def _states(fleet: Fleet) -> dict[str, str]:
    """The state of each node; of one that stands in two the worse one."""
    states: dict[str, str] = {}
    for state in sorted(fleet.states, key=_rank):
        for node in unfolded(fleet.states[state], fleet.counts.get(state, MOST)):
            states.setdefault(node, state)
    return states


def _rank(state: str) -> int:
    return STATES.index(state) if state in STATES else len(STATES)


def _moved(earlier: Mapping[str, str], today: Mapping[str, str]) -> Iterator[Change]:
    """Nodes that are better or worse, by the way that they went."""
    ways: dict[tuple[str, str], list[str]] = {}
    for node, state in today.items():
        if node in earlier and earlier[node] != state:
            ways.setdefault((state, earlier[node]), []).append(node)
    for (new, old), nodes in sorted(ways.items(), key=lambda way: tuple(map(_rank, way[0]))):
        if kind := _kind(old, new):
            yield _change(kind, f"{old} before, {new} now", nodes)


def _kind(old: str, new: str) -> str:
    """Whether it is better or worse; empty where nobody knew before, and nobody knows now.

    Who does not answer any more is worse off than by any warning; who answers again and fails is known to be ill now.
    """
    if old not in REPORTED and new not in REPORTED:
        return ""
    if new not in REPORTED or new == "fail":
        return "worse"
    if old not in REPORTED:
        return "better"
    return "worse" if _rank(new) < _rank(old) else "better"


def _came_and_went(earlier: Mapping[str, str], today: Mapping[str, str]) -> Iterator[Change]:
    if gone := earlier.keys() - today.keys():
        yield _change("vanished", "Not in the fleet any more", gone)
    if new := today.keys() - earlier.keys():
        yield _change("appeared", "New in the fleet", new)


# -- causes --------------------------------------------------------------------------------------------------


class _Found:
    """A check's problem over a fleet: its words may hold a version or a number that has changed meanwhile."""

    def __init__(self) -> None:
        self.nodes: set[str] = set()
        self.name = ""

    def add(self, cause: Cause) -> None:
        """Take in a cause."""
        self.nodes.update(unfolded(cause.nodes, cause.count))
        self.name = self.name or f"{cause.title} ({cause.check})"


def _by_check(causes: Iterable[Cause]) -> dict[tuple[str, str], _Found]:
    found: dict[tuple[str, str], _Found] = {}
    for cause in causes:
        found.setdefault((cause.check, cause.status), _Found()).add(cause)
    return found


def _causes(before: Fleet, now: Fleet, earlier: Mapping[str, str], today: Mapping[str, str]) -> Iterator[Change]:
    """Causes that are new, on more nodes or on fewer; a node that does not say how it is has solved nothing."""
    old, new = _by_check(before.causes), _by_check(now.causes)
    nothing = _Found()
    for key in dict.fromkeys((*new, *old)):
        had, has = old.get(key, nothing), new.get(key, nothing)
        # Where nobody looked before, nobody can say that it has spread there.
        spread = {node for node in has.nodes - had.nodes if earlier.get(node, "pass") in REPORTED or not had.nodes}
        solved = {node for node in had.nodes - has.nodes if today.get(node) in ("fail", "warn", "pass")}
        if spread:
            yield _change("cause", f"{'On more nodes' if had.nodes else 'New'}: {has.name}", spread)
        if solved:
            word = "Solved" if solved == had.nodes and not has.nodes else "Solved on some of its nodes"
            yield _change("solved", f"{word}: {had.name}", solved)


# -- what most have ------------------------------------------------------------------------------------------


class _Agreed:
    """What most nodes of each group have, and which nodes have something else."""

    def __init__(self, fleet: Fleet) -> None:
        self.nodes = {group.hardware: set(unfolded(group.nodes, group.count)) for group in fleet.groups}
        self.most = {(group.hardware, fact): value for group in fleet.groups for fact, value in group.facts.items()}
        self.apart: dict[tuple[str, str], set[str]] = {}
        for drift in fleet.drifts:
            key = drift.hardware, drift.fact
            if drift.majority:
                self.most[key] = drift.majority
            self.apart[key] = {node for one in drift.departures for node in unfolded(one.nodes, one.count)}

    def with_most(self, key: tuple[str, str]) -> set[str]:
        """The nodes that have what most have."""
        return self.nodes.get(key[0], set()) - self.apart.get(key, set())


def _facts(before: Fleet, now: Fleet) -> Iterator[Change]:
    """Facts of which most have another value now, and nodes that have left what most have, or come back to it."""
    old, new = _Agreed(before), _Agreed(now)
    updates: dict[tuple[str, str, str], set[str]] = {}
    left: dict[tuple[str, str], set[str]] = {}
    back: dict[tuple[str, str], set[str]] = {}
    for key in (key for key in new.most if key in old.most):
        fact, was, is_ = key[1], old.most[key], new.most[key]
        gone, came = new.apart.get(key, set()), old.apart.get(key, set())
        known = old.nodes.get(key[0], set()) & new.nodes.get(key[0], set())
        if was != is_:
            updates.setdefault((fact, was, is_), set()).update(new.with_most(key))
        else:
            left.setdefault((fact, is_), set()).update((gone - came) & known)
            back.setdefault((fact, is_), set()).update((came - gone) & known)
    yield from _updates(updates)
    for ways, words in ((left, "is not {} any more, which most have"), (back, "is {} again, as most have")):
        for (fact, value), nodes in ways.items():
            if nodes:
                yield _change("fact", f"{fact} {words.format(value)}", nodes)


def _updates(updates: Mapping[tuple[str, str, str], set[str]]) -> Iterator[Change]:
    """An update each; the same of the same nodes once (the driver as NVML tells it), and many packages in one line."""
    packages: dict[frozenset[str], list[str]] = {}
    told = set()
    for (fact, was, is_), nodes in updates.items():
        says = f"{fact}: {was} before, {is_} now"
        if fact.startswith("packages"):
            packages.setdefault(frozenset(nodes), []).append(says)
        elif (echo := (was, is_, frozenset(nodes))) not in told:
            told.add(echo)
            yield _change("fact", says, nodes)
    for some, all_ in packages.items():
        if len(all_) > _PACKAGES:
            first = next((one for one in all_ if one.startswith("packages.torch:")), all_[0])
            yield _change("fact", f"{len(all_)} packages are others, as {first}", some)
        else:
            yield from (_change("fact", says, some) for says in all_)


# -- what was measured ---------------------------------------------------------------------------------------


def _figures(before: Fleet, now: Fleet) -> Iterator[Change]:
    """Medians that have moved by more than they move by themselves."""
    old = {(one.hardware, one.figure, one.unit): one for one in before.spreads}
    for one in now.spreads:
        was = old.get((one.hardware, one.figure, one.unit))
        if was is None or not was.median or abs(one.median - was.median) <= noise(was, one):
            continue
        part = one.median / was.median - 1
        yield Change(
            kind="figure",
            says=f"{one.figure}: the median is {amount(one.median)} {one.unit}, {amount(was.median)} before "
            f"({100 * part:+.1f} %), on {one.hardware}",
        )


def noise(was: Spread, one: Spread) -> float:
    """By how much a median moves from one day to the next though nothing has changed, in the figure's unit."""
    if min(was.count, one.count) < _SETTLED:
        return MARGIN * abs(was.median)
    error = _OF_MEDIAN * math.hypot(was.deviation / math.sqrt(was.count), one.deviation / math.sqrt(one.count))
    return max(SIGMAS * error, _LEAST * abs(was.median))
