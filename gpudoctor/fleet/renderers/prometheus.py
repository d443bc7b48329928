"""The summary as Prometheus reads it, for node_exporter's textfile collector: how many nodes, and which need somebody.

The format: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format.
"""

from collections.abc import Callable, Container, Iterable, Iterator
from itertools import islice

from gpudoctor.fleet.aggregate.nodeset_expansion import names, unfolded
from gpudoctor.fleet.aggregate.report_ages import seconds
from gpudoctor.fleet.renderers.phrases import hardware
from gpudoctor.fleet.renderers.verdict import states as states_of
from gpudoctor.fleet.summary import STATES, Fleet, Spread
from gpudoctor.report.renderers.prometheus import Sample, metric

# Series of nodes that need somebody, which an alert names; a whole fleet that fails has one reason, not a thousand.
NAMED = 1000
_CALM = ("pass", "cpu-only")
_NAMED = ("fail", "warn")
QUANTILES: tuple[tuple[str, Callable[[Spread], float]], ...] = (
    ("0", lambda one: one.least),
    ("0.05", lambda one: one.low),
    ("0.5", lambda one: one.median),
    ("0.95", lambda one: one.high),
    ("1", lambda one: one.most),
)


def render(fleet: Fleet) -> str:
    """All metrics, each with its help and its type."""
    return "".join(f"{line}\n" for name, help_, found in _metrics(fleet) for line in metric(name, help_, found))


def _metrics(fleet: Fleet) -> Iterator[tuple[str, str, list[Sample]]]:
    yield "gpudoctor_fleet_info", "Version of gpudoctor.", [({"version": fleet.version}, 1.0)]
    states = dict.fromkeys((*STATES, *fleet.counts))
    counted = [({"state": state}, float(fleet.counts.get(state, 0))) for state in states]
    yield "gpudoctor_fleet_nodes", "Nodes by state.", counted
    yield "gpudoctor_fleet_cause_nodes", "Nodes with a root cause.", _causes(fleet)
    apart = dict(islice(_apart(fleet), NAMED))
    yield (
        "gpudoctor_fleet_node_state",
        f"State of each node that is not healthy; of {NAMED} nodes at most, the worst states first.",
        [({"node": node, "state": state}, 1.0) for node, state in apart.items()],
    )
    yield "gpudoctor_fleet_node_cause", "Root causes of the same nodes.", _node_causes(fleet, apart)
    kinds: dict[str, int] = {}
    for count, what, _ in hardware(fleet):
        kinds[what] = kinds.get(what, 0) + count
    like = [({"hardware": what}, float(count)) for what, count in kinds.items()]
    yield "gpudoctor_fleet_group_nodes", "Nodes by hardware.", like
    yield (
        "gpudoctor_fleet_drift_nodes",
        "Nodes whose value of a fact differs from the majority of their hardware group.",
        _drifts(fleet),
    )
    yield from _spreads(fleet)
    for name, help_, text in (
        ("oldest_report", "Time of the oldest report.", fleet.oldest),
        ("newest_report", "Time of the newest report.", fleet.newest),
    ):
        if when := seconds(text):
            yield f"gpudoctor_fleet_{name}_timestamp_seconds", help_, [({}, float(when))]


def _apart(fleet: Fleet) -> Iterator[tuple[str, str]]:
    """The nodes that are not healthy, and their states."""
    return ((node, state) for state, count, folded in states_of(fleet) if state not in _CALM
            for node in names(folded, count))  # fmt: skip


def _node_causes(fleet: Fleet, apart: Container[str]) -> list[Sample]:
    found = dict.fromkeys(
        (node, cause.check, cause.status)
        for cause in fleet.causes
        if cause.status in _NAMED
        for node in names(cause.nodes, cause.count)
        if node in apart
    )
    return [({"node": node, "check": check, "status": status}, 1.0) for node, check, status in found]


def _causes(fleet: Fleet) -> list[Sample]:
    """Of each check and status how many nodes; one that has it for two reasons counts once."""
    found: dict[tuple[str, str], set[str]] = {}
    for cause in fleet.causes:
        found.setdefault((cause.check, cause.status), set()).update(unfolded(cause.nodes, cause.count))
    return [({"check": check, "status": status}, float(len(nodes))) for (check, status), nodes in found.items()]


def _drifts(fleet: Fleet) -> list[Sample]:
    found: dict[tuple[str, str], float] = {}
    for one in fleet.drifts:
        key = one.hardware, one.fact
        found[key] = found.get(key, 0.0) + sum(other.count for other in one.departures)
    return [({"hardware": hardware, "fact": fact}, count) for (hardware, fact), count in found.items()]


def _spreads(fleet: Fleet) -> Iterator[tuple[str, str, list[Sample]]]:
    known = {(one.hardware, one.figure, one.unit): one for one in fleet.spreads}.values()
    quantiles = [(_labels(one) | {"quantile": name}, value(one)) for one in known for name, value in QUANTILES]
    yield "gpudoctor_fleet_figure", "Measured value over all devices of a hardware group, by quantile.", quantiles
    yield "gpudoctor_fleet_figure_values", "Number of measured devices.", _each(known, lambda one: one.count)
    deviation = _each(known, lambda one: one.deviation)
    yield "gpudoctor_fleet_figure_deviation", "Robust standard deviation of a measured value.", deviation
    outliers = _each(known, lambda one: len(one.outliers) + one.more)
    yield "gpudoctor_fleet_figure_outliers", "Number of outliers.", outliers


def _each(spreads: Iterable[Spread], value: Callable[[Spread], float]) -> list[Sample]:
    return [(_labels(one), float(value(one))) for one in spreads]


def _labels(spread: Spread) -> dict[str, str]:
    return {"hardware": spread.hardware, "figure": spread.figure, "unit": spread.unit}
