"""What is otherwise than in an earlier summary: nodes, causes, what most have, and medians beyond their noise."""

from collections.abc import Container, Iterable, Iterator, Mapping

import msgspec

from gpudoctor.fleet.aggregate.nodeset_expansion import MOST, unfolded
from gpudoctor.fleet.aggregate.requested_gpus import CHECK
from gpudoctor.fleet.changes import change, facts, figures, outliers
from gpudoctor.fleet.nodesets import fold
from gpudoctor.fleet.summary import JUDGED, REPORTED, STATES, Cause, Change, Fleet

ORDER = ("worse", "cause", "vanished", "figure", "fact", "appeared", "solved", "better")


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
    found = [*facts(before, now), *figures(before, now), *outliers(before, now)]
    earlier, today = _states(before), _states(now)
    open_ = _not_compared(before, now)
    found += (*_moved(earlier, today, open_), *_came_and_went(earlier, today))
    found += _causes(before, now, earlier, today, open_)
    if open_:
        found.append(change("fact", f"Missing GPUs before ({CHECK}), not compared now: too few identical nodes", open_))
    return tuple(sorted(found, key=lambda one: ORDER.index(one.kind)))


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


def _not_compared(before: Fleet, now: Fleet) -> set[str]:
    """The nodes that lacked a GPU next to identical nodes, of which there are too few reports now to compare with."""
    if now.uncompared is None:
        return set()
    lacked = (one for one in before.causes if one.check == CHECK)
    alone = set(unfolded(now.uncompared.nodes, now.uncompared.count))
    return {node for one in lacked for node in unfolded(one.nodes, one.count)} & alone


def _moved(earlier: Mapping[str, str], today: Mapping[str, str], open_: Container[str]) -> Iterator[Change]:
    """Nodes that are better or worse, by the way that they went; not those of which that cannot be said."""
    ways: dict[tuple[str, str], list[str]] = {}
    for node, state in today.items():
        if node in earlier and earlier[node] != state and node not in open_:
            ways.setdefault((state, earlier[node]), []).append(node)
    for (new, old), nodes in sorted(ways.items(), key=lambda way: tuple(map(_rank, way[0]))):
        yield change(_kind(old, new), f"{old} before, {new} now", nodes)


def _kind(old: str, new: str) -> str:
    """Whether it is better or worse; a fact and neither where nobody knew before, and nobody knows now.

    Who does not respond any more is worse off than by any warning; who answers again and fails is known to be ill now.
    """
    if old not in REPORTED and new not in REPORTED:
        return "fact"
    if new not in REPORTED or new == "fail":
        return "worse"
    if old not in REPORTED:
        return "better"
    return "worse" if _rank(new) < _rank(old) else "better"


def _came_and_went(earlier: Mapping[str, str], today: Mapping[str, str]) -> Iterator[Change]:
    if gone := earlier.keys() - today.keys():
        yield change("vanished", "No longer in the fleet", gone)
    if new := today.keys() - earlier.keys():
        yield change("appeared", "New in the fleet", new)


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


def _causes(
    before: Fleet, now: Fleet, earlier: Mapping[str, str], today: Mapping[str, str], open_: set[str]
) -> Iterator[Change]:
    """Causes that are new, on more nodes or on fewer; a node that does not say how it is has solved nothing."""
    old, new = _by_check(before.causes), _by_check(now.causes)
    nothing = _Found()
    for key in dict.fromkeys((*new, *old)):
        had, has = old.get(key, nothing), new.get(key, nothing)
        # Where nobody looked before, nobody can say that it has spread there.
        spread = {node for node in has.nodes - had.nodes if earlier.get(node, "pass") in REPORTED or not had.nodes}
        solved = {node for node in had.nodes - has.nodes if today.get(node) in JUDGED}
        solved -= open_ if key[0] == CHECK else set()
        if spread:
            yield change("cause", f"{'On more nodes' if had.nodes else 'New'}: {has.name}", spread)
        if solved:
            word = "Solved" if solved == had.nodes and not has.nodes else "Solved on some of its nodes"
            yield change("solved", f"{word}: {had.name}", solved)
