"""What has changed in a fleet besides its nodes' health: what most have, and medians beyond their noise."""

import math
from collections.abc import Iterable, Iterator, Mapping

from gpudoctor.expect.smoke_tolerances import MARGIN, SIGMAS
from gpudoctor.fleet.aggregate.drift import DRIVER, OF_DRIVER
from gpudoctor.fleet.aggregate.nodeset_expansion import unfolded
from gpudoctor.fleet.fact_names import fact_name
from gpudoctor.fleet.nodesets import fold
from gpudoctor.fleet.summary import Change, Fleet, Spread
from gpudoctor.report.numbers import amount

# The standard error of a median of normal values is 1.2533 that of their mean, sqrt(pi / 2):
# M. G. Kendall and A. Stuart, The Advanced Theory of Statistics, volume 1, chapter 10 (Standard errors).
_OF_MEDIAN = math.sqrt(math.pi / 2)
# Of so many values a median has settled; below, it moves with each of them, as a single measurement does (MARGIN).
_SETTLED = 20
# A median that moved by less than this part is no matter to anybody: clocks follow the heat of a room.
_LEAST = 0.02
_PACKAGES = 8  # of more packages that changed on the same nodes the first is named, and the others are counted


def change(kind: str, message: str, nodes: Iterable[str]) -> Change:
    """A change of some nodes."""
    some = set(nodes)
    return Change(kind=kind, message=message, nodes=fold(some), count=len(some))


# -- what most have ------------------------------------------------------------------------------------------


Key = tuple[str, str]  # hardware, fact
Having = tuple[tuple[str, frozenset[str]], ...]  # all nodes of some hardware but for those


class _Agreed:
    """What most nodes of each group have, and which nodes have something else.

    Attributes:
        most: the value that most have.
        apart: the nodes that have another one.
        values: the same by what they have.
        cut: facts with so many values that not all are listed.
    """

    def __init__(self, fleet: Fleet) -> None:
        self._groups = {group.hardware: group for group in fleet.groups}
        self.most = {(group.hardware, fact): value for group in fleet.groups for fact, value in group.facts.items()}
        self.apart: dict[Key, frozenset[str]] = {}
        self.values: dict[Key, dict[str, frozenset[str]]] = {}
        self.cut: set[Key] = set()
        for drift in fleet.drifts:
            key = drift.hardware, drift.fact
            if drift.majority:
                self.most[key] = drift.majority
            if drift.values > len(drift.departures) + bool(drift.majority):
                self.cut.add(key)
            self.values[key] = {one.value: frozenset(unfolded(one.nodes, one.count)) for one in drift.departures}
            self.apart[key] = frozenset().union(*self.values[key].values())

    def having(self, ways: Having) -> Iterator[str]:
        """The nodes that have what most have."""
        for hardware, apart in ways:
            group = self._groups[hardware]  # of a large fleet it is unfolded where it is needed, and not kept
            yield from (node for node in unfolded(group.nodes, group.count) if node not in apart)

    def among(self, hardware: str, nodes: frozenset[str]) -> frozenset[str]:
        """Those of some nodes that are in a group."""
        group = self._groups.get(hardware)
        return nodes.intersection(unfolded(group.nodes, group.count)) if group and nodes else frozenset()


def facts(before: Fleet, now: Fleet) -> Iterator[Change]:
    """Facts of which most have another value now, and nodes that have left what most have, or come back to it."""
    old, new = _Agreed(before), _Agreed(now)
    none: frozenset[str] = frozenset()
    updates: dict[tuple[str, str, str], Having] = {}
    left: dict[tuple[str, str, str], set[str]] = {}
    back: dict[tuple[str, str], set[str]] = {}
    for key in (key for key in new.most if key in old.most):
        (hardware, fact), was, is_ = key, old.most[key], new.most[key]
        gone, came = new.apart.get(key, none), old.apart.get(key, none)
        if was != is_:
            mine = ((hardware, gone),) if key not in new.cut else ()
            updates[fact, was, is_] = (*updates.get((fact, was, is_), ()), *mine)
        elif gone != came and key not in new.cut | old.cut:
            came_apart = old.among(hardware, gone - came)
            for value, nodes in new.values.get(key, {}).items():
                left.setdefault((fact, is_, value), set()).update(came_apart & nodes)
            back.setdefault((fact, is_), set()).update(new.among(hardware, came - gone))
    yield from _updates(updates, new)
    for (fact, usual, value), some in left.items():
        if some:
            yield change("fact", f"{fact_name(fact)}: {value} now, the majority still has {usual}", some)
    for (fact, usual), some in back.items():
        if some:
            yield change("fact", f"{fact_name(fact)}: {usual} again, as the majority", some)


def _updates(updates: Mapping[tuple[str, str, str], Having], new: _Agreed) -> Iterator[Change]:
    """An update each; the same of the same nodes once (the driver as NVML tells it), and many packages in one line.

    The newest CUDA that a driver runs follows from its version.
    """
    drivers = [ways for (fact, _, _), ways in updates.items() if fact == DRIVER]
    packages: dict[Having, dict[str, str]] = {}
    reported = set()
    for (fact, was, is_), ways in updates.items():
        message = f"{fact_name(fact)}: {was} before, {is_} now"
        if fact.startswith("packages"):
            packages.setdefault(ways, {})[fact] = message
        elif fact == OF_DRIVER and ways in drivers:
            continue
        elif (echo := (was, is_, ways)) not in reported:
            reported.add(echo)
            yield change("fact", message, new.having(ways))
    for ways, named in packages.items():
        all_ = list(named.values())
        if len(all_) > _PACKAGES:
            all_ = [f"{len(all_)} packages changed, such as {named.get('packages.torch', all_[0])}"]
        yield from (change("fact", message, new.having(ways)) for message in all_)


# -- what was measured ---------------------------------------------------------------------------------------


def figures(before: Fleet, now: Fleet) -> Iterator[Change]:
    """Medians that have moved by more than they move by themselves."""
    old = {(one.hardware, one.figure, one.unit): one for one in before.spreads}
    for one in now.spreads:
        was = old.get((one.hardware, one.figure, one.unit))
        if was is None or not was.median or abs(one.median - was.median) <= noise(was, one):
            continue
        part = one.median / was.median - 1
        yield Change(
            kind="figure",
            message=f"{one.figure}: the median is {amount(one.median)} {one.unit}, was {amount(was.median)} "
            f"({100 * part:+.1f}%), on {one.hardware}",
        )


def outliers(before: Fleet, now: Fleet) -> Iterator[Change]:
    """Nodes with a device that has become an outlier, or is none any more; figures of the same nodes in one line."""
    old = {(one.hardware, one.figure, one.unit): one for one in before.spreads}
    new: dict[frozenset[str], list[str]] = {}
    gone: dict[frozenset[str], list[str]] = {}
    for one in now.spreads:
        was = old.get((one.hardware, one.figure, one.unit))
        if was is None:
            continue
        then, today = ({outlier.node for outlier in each.outliers} for each in (was, one))
        if came := frozenset(today - then) if not was.more else frozenset():
            new.setdefault(came, []).append(one.figure)
        # Where fewer devices were measured, one may be missing that was an outlier.
        if left := frozenset(then - today) if not one.more and one.count >= was.count else frozenset():
            gone.setdefault(left, []).append(one.figure)
    for ways, what in ((new, "now an outlier in"), (gone, "no longer an outlier in")):
        for nodes, names in ways.items():
            which = names[0] if len(names) == 1 else f"{len(names)} figures, such as {names[0]}"
            yield change("figure", f"{what} {which}", nodes)


def noise(was: Spread, one: Spread) -> float:
    """By how much a median moves from one day to the next though nothing has changed, in the figure's unit."""
    if min(was.count, one.count) < _SETTLED:
        return MARGIN * abs(was.median)
    error = _OF_MEDIAN * math.hypot(was.deviation / math.sqrt(was.count), one.deviation / math.sqrt(one.count))
    return max(SIGMAS * error, _LEAST * abs(was.median))
