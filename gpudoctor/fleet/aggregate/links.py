"""Which links between neighbors are slow, and whether it is the link or one of its nodes."""

import os
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from gpudoctor.fleet.aggregate.causes import ranked
from gpudoctor.fleet.aggregate.outliers import FAR, FEWEST, MATTERS, middle
from gpudoctor.fleet.nodesets import fold
from gpudoctor.fleet.runner.pairing import links as landed
from gpudoctor.fleet.runner.pairs import PairLink
from gpudoctor.fleet.summary import Cause, Fleet

SLOW, NONE = "pairs.slow", "pairs.no-sum"
TITLES = {SLOW: "Slow all-reduce between neighbor nodes", NONE: "All-reduce between neighbor nodes fails or is wrong"}
# A slow node spoils two links, which among few are enough to spoil the spread as well: less than half of what most
# carry is slow, however far the others are from one another. (Trees of switches are oversubscribed two to one.)
SURE = 0.5
_LISTED = 8  # faults that are listed in full


class Fault(NamedTuple):
    """A link that is bad, or a node all of whose links are.

    Attributes:
        kind: SLOW or NONE.
        nodes: one or two.
        message: one sentence.
    """

    kind: str
    nodes: tuple[str, ...]
    message: str


class LinkVerdicts(NamedTuple):
    """The links of like hardware.

    Attributes:
        hardware: what they connect.
        rates: that were measured, GB/s, sorted.
        median: of them.
        faults: nodes first, then links.
    """

    hardware: str
    rates: tuple[float, ...]
    median: float
    faults: tuple[Fault, ...]


def with_links(fleet: Fleet, folders: Iterable[str], only: Container[str] | None = None) -> Fleet:
    """The summary with what neighbors measured with each other, where they did.

    Args:
        fleet: the summary of the reports.
        folders: of the runs.
        only: names of the nodes that count; None: all.
    """
    links = [link for folder in folders for link in landed(folder)]
    wanted = [link for link in links if only is None or all(node in only for node in link.nodes)]
    faults = [fault for one in judged(wanted) for fault in one.faults]
    causes = tuple(_causes(faults))
    if not causes:
        return fleet
    return msgspec.structs.replace(fleet, causes=ranked((*fleet.causes, *causes)))


def folders(ledgers: Iterable[str]) -> list[str]:
    """The directories of runs, by their ledgers; one that was named twice, as by RUN and RUN/reports, stands once."""
    return list(dict.fromkeys(os.path.realpath(os.path.dirname(ledger)) for ledger in ledgers))


def _causes(faults: Sequence[Fault]) -> Iterator[Cause]:
    """One cause for each kind, however many links have it."""
    for kind, status in ((NONE, "fail"), (SLOW, "warn")):
        if its := [fault for fault in faults if fault.kind == kind]:
            nodes = list(dict.fromkeys(node for fault in its for node in fault.nodes))
            more = [f"And {len(its) - _LISTED} more."] if len(its) > _LISTED else []
            yield Cause(
                check=kind,
                status=status,
                title=TITLES[kind],
                cause=" ".join([*(fault.message for fault in its[:_LISTED]), *more]),
                message="",
                example=its[0].nodes[0],
                nodes=fold(nodes),
                count=len(nodes),
                times=len(its),
            )


def judged(links: Iterable[PairLink]) -> list[LinkVerdicts]:
    """Hold each link against those of like hardware.

    Where fewer than five were measured nobody can say which is slow; what failed is told all the same.
    """
    alike: dict[tuple[str, str], list[PairLink]] = defaultdict(list)
    for link in links:
        alike[link.hardware, "" if link.error else link.library].append(link)
    failed = {hardware: group for (hardware, library), group in alike.items() if not library}
    found = []
    for (hardware, library), group in sorted(alike.items()):
        if library:
            found.append(_judged(hardware, [*group, *failed.pop(hardware, [])]))
    return found + [_judged(hardware, group) for hardware, group in failed.items()]


def _judged(hardware: str, links: Sequence[PairLink]) -> LinkVerdicts:
    rates = sorted(link.rate for link in links if link.rate is not None)
    median, deviation = middle(rates)
    reach = min(max(FAR * deviation, MATTERS * median), SURE * median)
    slowest = median - reach if len(rates) >= FEWEST else 0.0
    bad = {link.nodes: link for link in links if _is_bad(link, slowest)}
    by_node: dict[str, list[PairLink]] = defaultdict(list)
    for link in links:
        for node in link.nodes:
            by_node[node].append(link)
    nodes = {node for node, its in by_node.items() if len(its) > 1 and all(link.nodes in bad for link in its)}
    left = [link for link in bad.values() if not nodes.intersection(link.nodes)]
    faults = [
        Fault(_kind(by_node[node]), (node,), _of_node(node, by_node[node], median)) for node in by_node if node in nodes
    ]
    faults += [Fault(_kind([link]), link.nodes, _of_link(link, by_node, median)) for link in left]
    return LinkVerdicts(hardware, tuple(rates), median, tuple(faults))


def _kind(links: Sequence[PairLink]) -> str:
    return NONE if any(link.error or link.wrong for link in links) else SLOW


def _is_bad(link: PairLink, slowest: float) -> bool:
    return bool(link.error) or link.wrong > 0 or (link.rate is not None and link.rate < slowest)


def _of_node(node: str, links: Sequence[PairLink], median: float) -> str:
    others = [next(name for name in link.nodes if name != node) for link in links]
    ends = [f"{_how(link)} with {other}" for link, other in zip(links, others, strict=True)]
    return f"{node} itself, not the links, because both neighbors are affected: {'; '.join(ends)}{_usual(median)}."


def _of_link(link: PairLink, by_node: Mapping[str, Sequence[PairLink]], median: float) -> str:
    one, other = link.nodes
    alone = [node for node in link.nodes if len(by_node[node]) < 2]
    which = (
        f"; testing with a third node would show whether the link or {' or '.join(alone)} is at fault" if alone else ""
    )
    return f"{one} and {other}: {_how(link)}{_usual(median)}{which}."


def _how(link: PairLink) -> str:
    if link.error:
        return f"all-reduce failed ({link.error.rstrip('.')})"
    wrong = f", and {link.wrong} elements of the result are wrong" if link.wrong else ""
    return f"{link.rate or 0:.3g} GB/s{wrong}"


def _usual(median: float) -> str:
    return f"; most links reach {median:.3g} GB/s" if median else ""
