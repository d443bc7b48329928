"""Nodes with fewer GPUs than their peers, though no scheduler says how many there should be: which, and which slots."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from gpudoctor.fleet.aggregate.causes import ranked
from gpudoctor.fleet.aggregate.hardware import Kind
from gpudoctor.fleet.aggregate.nodeset_expansion import names
from gpudoctor.fleet.aggregate.report_header import ReportError, head
from gpudoctor.fleet.aggregate.report_sources import Sources
from gpudoctor.fleet.aggregate.requested_gpus import CHECK, OWN, engine_of, fixes, listed_gpus, missing_by
from gpudoctor.fleet.aggregate.targets import in_order
from gpudoctor.fleet.nodesets import fold, natural
from gpudoctor.fleet.summary import AffectedTarget, Cause, Fleet, Uncompared
from gpudoctor.lazy_regex import pattern
from gpudoctor.report.numbers import number

TITLE = "Fewer GPUs than identical nodes"
# Of identical nodes so many must agree on the number of GPUs. Failures alone do not take GPUs from a fifth of them: in
# 54 days of training Llama 3, 148 of 16,384 GPUs failed, which is 7% of nodes of eight had nobody replaced one (arXiv
# 2407.21783, table 5). A pool in which more nodes have fewer was bought so.
CLEAR, FEWEST = 0.8, 4
# Who has half of the GPUs or less may have been bought half full, or be a smaller instance of the same cloud: it stays
# a drift.
_HALF = 2
_READ, _SAMPLES = 200, 8  # reports that are read again for their PCI addresses: of nodes that lack GPUs, and of peers
_SHOWN = 16  # slots that the evidence lists
UNKNOWN_MODEL = "unknown"  # how the product begins of a machine whose firmware names none
_SERIES = pattern(r"([^0-9]*)[0-9].*", re.DOTALL)  # node of node017, ip- of ip-10-0-3-17


class PeerGroup(NamedTuple):
    """Identical nodes, most of which have the same number of GPUs.

    Attributes:
        kind: what they are, with the usual number.
        series: how their names begin.
        total: how many there are.
        usual: how many have the usual number.
        samples: some of these.
        short: the nodes that have fewer, by their number.
    """

    kind: Kind
    series: str
    total: int
    usual: int
    samples: Sequence[str]
    short: Mapping[int, Sequence[str]]


class Peers(NamedTuple):
    """What came of comparing nodes by their number of GPUs.

    Attributes:
        groups: in which nodes lack GPUs.
        alone: nodes for which there are not enough identical ones that agree.
    """

    groups: list[PeerGroup]
    alone: list[str]


def series(name: str) -> str:
    """How a name begins that has a number; names without one are of one series."""
    found = _SERIES.fullmatch(name)
    return found[1] if found else ""


def compared(kinds: Callable[[], Iterable[tuple[str, Kind | None]]]) -> Peers:
    """Which nodes lack GPUs that identical ones have.

    Args:
        kinds: gives the name of each node with GPUs, and what it is as hardware; None: nobody knows. It is asked
            twice, because of a large fleet the names of all families are more than memory should hold.
    """
    sizes: dict[tuple[Kind, str], Counter[Kind]] = defaultdict(Counter)
    for name, one in kinds():
        if one is not None:
            sizes[alike(one), series(name)][one] += 1
    clear = {
        family
        for family, counts in sizes.items()
        if max(counts.values()) >= max(FEWEST, CLEAR * counts.total()) and counts.most_common(1)[0][0].hardware.number
    }
    odd = {family for family in clear if len(sizes[family]) > 1}
    named: dict[tuple[Kind, str], dict[Kind, list[str]]] = defaultdict(dict)
    alone = []
    for name, one in kinds():
        family = None if one is None else (alike(one), series(name))
        if one is None or family is None or family not in clear:
            alone.append(name)
        elif family in odd:
            named[family].setdefault(one, []).append(name)
    return Peers([group for (_, start), found in named.items() for group in _groups(start, found)], alone)


def _groups(start: str, found: Mapping[Kind, list[str]]) -> Iterator[PeerGroup]:
    usual, most = max(found.items(), key=lambda pair: len(pair[1]))
    total = sum(map(len, found.values()))
    count = usual.hardware.number
    short = {one.hardware.number: names for one, names in found.items() if count // _HALF < one.hardware.number < count}
    if short:
        yield PeerGroup(usual, start, total, len(most), most[:_SAMPLES], short)


def alike(kind: Kind) -> Kind:
    """What nodes with another number of the same GPUs are too."""
    return kind._replace(hardware=kind.hardware._replace(number=0, label=""))


class _Slot(msgspec.Struct, gc=False):
    address: str | None = None


_slots = msgspec.json.Decoder(list[_Slot]).decode


def with_peers(fleet: Fleet, found: Peers, sources: Sources, only: Container[str] | None = None) -> Fleet:
    """The summary with a failure for nodes that have fewer GPUs than identical ones, and which slots are empty.

    A node for which its scheduler lists what it has is as it should be; so is one in whose PCI slots all GPUs are, of
    which its job was given a part.

    Args:
        fleet: the summary of the reports, with what schedulers list.
        found: how they compare.
        sources: the reports, of which some are read again.
        only: names of the nodes that count; None: all.

    Raises:
        SourceError: the reports or a ledger cannot be read.
    """
    listed, reported = _listed(sources.ledgers), missing_by(fleet, {*OWN, CHECK})
    states = ((fleet.states.get(one, ""), fleet.counts.get(one, 0)) for one in ("warn", "pass"))
    open_ = {node for node in found.alone if not listed.get(node, ("", 0))[1]}
    alone = [node for folded, count in states if open_ for node in names(folded, count) if node in open_]
    if alone:
        fleet = msgspec.structs.replace(fleet, uncompared=Uncompared(nodes=fold(alone), count=len(alone)))

    def counts(node: str, have: int) -> bool:
        return (only is None or node in only) and node not in reported and listed.get(node, ("", 0))[1] != have

    lacking = [
        (group, have, [node for node in nodes if counts(node, have)])
        for group in found.groups
        for have, nodes in group.short.items()
    ]
    wanted = {node for _, _, nodes in lacking for node in nodes[:_READ]}
    wanted.update(node for group, _, nodes in lacking if nodes for node in group.samples)
    if not wanted:
        return fleet
    slots = dict(_addresses(sources, wanted))
    causes: list[Cause] = []
    for group, have, nodes in lacking:
        by_engine: dict[str, list[str]] = defaultdict(list)
        for node in nodes:
            if len(slots.get(node, ())) < group.kind.hardware.number:
                by_engine[listed.get(node, ("", 0))[0]].append(node)
        causes += (_cause(group, have, some, slots, engine) for engine, some in by_engine.items())
    return msgspec.structs.replace(fleet, causes=ranked((*fleet.causes, *causes))) if causes else fleet


def _listed(ledgers: Iterable[str]) -> dict[str, tuple[str, int]]:
    """By node the engine that asked it, and how many GPUs that lists for it."""
    found: dict[str, tuple[str, int]] = {}
    for path in dict.fromkeys(os.path.realpath(one) for one in ledgers):
        engine, _ = engine_of(os.path.dirname(path))
        found.update((node, (engine, gpus)) for node, gpus in listed_gpus(path).items())
    return found


def _addresses(sources: Sources, wanted: set[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """The PCI addresses of the GPUs of some nodes, of those whose driver does not list them too."""
    for sent in sources.some(wanted):
        try:
            gpus = _slots(head(sent.data).gpus)
        except (ReportError, msgspec.MsgspecError, ValueError, RecursionError):
            continue  # it was read a moment ago, so it has changed
        yield sent.node, frozenset(one.address for one in gpus if one.address)


def _empty(group: PeerGroup, have: int, slots: Mapping[str, frozenset[str]], node: str) -> tuple[str, ...]:
    """The PCI addresses at which peers have a GPU and the node has none; none where the slots cannot be compared."""
    layouts = {slots.get(peer, frozenset()) for peer in group.samples}
    own = slots.get(node, frozenset())
    if len(layouts) != 1 or len(own) != have:
        return ()
    (layout,) = layouts
    return tuple(sorted(layout - own)) if own < layout and len(layout) == group.kind.hardware.number else ()


def _model(product: str) -> str:
    return f"an {product}".replace("unknown", "unknown model", 1) if _is_unknown(product) else f"the model {product}"


def _is_unknown(product: str) -> bool:
    return product.startswith(f"{UNKNOWN_MODEL} with ")


def _lost(slots: tuple[str, ...], found: str) -> AffectedTarget:
    """What a node lacks: the GPU at a PCI address, where that is known."""
    at = " or ".join(slots)
    message = f"{found} No GPU is at {at}, where identical nodes have one." if at else found
    return AffectedTarget(subject=f"the GPU at {at}" if at else "a GPU", address=at, message=message)


def _cause(group: PeerGroup, have: int, nodes: list[str], slots: Mapping[str, frozenset[str]], engine: str) -> Cause:
    by_slot: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for node in sorted(nodes, key=natural):
        by_slot[_empty(group, have, slots, node)].append(node)
    found = f"{have} of {group.kind.hardware.number} GPUs found."
    usual, example = group.kind.hardware.number, min(nodes)
    peers = f"{number(group.usual)} of {number(group.total)} nodes"
    empty = sorted(((where, some) for where, some in by_slot.items() if where), key=lambda pair: -len(pair[1]))
    return Cause(
        check=CHECK,
        status="fail",
        title=TITLE,
        cause=f"Identical nodes have {usual} x {' and '.join(group.kind.hardware.names)}. A GPU that is not on the PCI "
        "bus is not seated, has no power, is defective, or fell off the bus (Xid 79 in the kernel log).",
        message=next(_lost(where, found).message for where, some in by_slot.items() if example in some),
        evidence=(
            f"{usual} GPUs on {peers} of {_model(group.kind.product)} with names like {example}",
            *(f"{fold(some)}: no GPU at {' or '.join(where)}" for where, some in empty[:_SHOWN]),
            *([f"{len(empty) - _SHOWN} more slots"] if len(empty) > _SHOWN else []),
        ),
        example=example,
        nodes=fold(nodes),
        count=len(nodes),
        times=len(nodes),
        targets=in_order(((_lost(where, found),), some) for where, some in by_slot.items()),
        fixes=fixes(engine, nodes, f"{have} of {usual} GPUs found", dict(sorted(by_slot.items()))),
    )
