"""A row a node, for tables: the same in CSV and in Parquet."""

from collections.abc import Iterator
from typing import NamedTuple

from gpudoctor.fleet.cause_targets import said, wheres
from gpudoctor.fleet.renderers.nodes import FleetNode, nodes
from gpudoctor.fleet.summary import Fleet
from gpudoctor.report.sanitize import clean


class NodeRow(NamedTuple):
    """What is said of a node.

    Attributes:
        node: its name.
        state: one of gpudoctor.fleet.summary.STATES.
        why: why there is no report; empty: there is one.
        hardware: what it has; empty: nobody said.
        causes: ids of the checks whose problem it has, worst first.
        titles: of the same.
        drift: facts that are otherwise than most others', "nvidia.kernel.loaded = 570.172.08".
        outliers: what it measured far from others, "GPU 3 pytorch.transfer.h2d pinned = 13.1 GB/s".
        targets: what each cause is about on this node, "device.row-remap-failed: GPU 4 at 0000:05:00.0".
        messages: what this node's report says of each cause, "device.row-remap-failed: Row remapping failed ...".
    """

    node: str
    state: str
    why: str
    hardware: str
    causes: tuple[str, ...]
    titles: tuple[str, ...]
    drift: tuple[str, ...]
    outliers: tuple[str, ...]
    targets: tuple[str, ...]
    messages: tuple[str, ...]


def rows(fleet: Fleet) -> Iterator[NodeRow]:
    """A row for each node, in natural order; no text holds the end of a line or what moves a cursor."""
    return map(_row, nodes(fleet))


def _row(node: FleetNode) -> NodeRow:
    return NodeRow(
        node=line(node.name),
        state=line(node.state),
        why=line(node.missing.why) if node.missing else "",
        hardware=line(node.hardware),
        causes=tuple(line(cause.check) for cause in node.causes),
        titles=tuple(line(cause.title) for cause in node.causes),
        drift=tuple(line(f"{drift.fact} = {one.value}") for drift, one in node.departs),
        outliers=tuple(
            line(f"{one.device} {spread.figure} = {one.value:g} {spread.unit}") for spread, one in node.outliers
        ),
        targets=tuple(line(f"{cause.check}: {wheres(one)}") for cause, one in node.targets),
        messages=tuple(line(f"{cause.check}: {said(one)}") for cause, one in node.targets if one.targets[0].message),
    )


def line(text: str) -> str:
    """A harmless text on one line."""
    return " ".join(clean(text).split())
