"""Which neighbors sum with each other, round by round, and what is known of a link when they have."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

SCHEMA = "gpudoctor.pair/1"
SIDE = "gpudoctor.pair-side/1"


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """How fast sums of one size were.

    Attributes:
        bytes: that each rank brings.
        seconds: of one sum, the median of several; the slowest rank counts.
        rate: what each link of the ring carried, GB/s, by nccl-tests' formula.
    """

    bytes: int
    seconds: float
    rate: float


class PairReport(msgspec.Struct, frozen=True, kw_only=True):
    """What one node of a pair sends.

    Attributes:
        node: its name, as it was called.
        library: nccl, or gloo where no GPUs are.
        ranks: of both nodes.
        sizes: smallest first.
        wrong: elements of sums that were not what they had to be.
        error: why there was no sum, in the ranks' words; empty: there was.
    """

    schema: str = SIDE
    node: str
    library: str = ""
    ranks: int = 0
    sizes: tuple[Size, ...] = ()
    wrong: int = 0
    error: str = ""


class PairLink(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the way between two nodes (`pairs/ROUND-A-B.json`).

    Attributes:
        nodes: both.
        hardware: what both are, as a text.
        rate: of the largest size, GB/s; None: it was not measured.
        error: why not.
    """

    schema: str = SCHEMA
    round: int
    nodes: tuple[str, str]
    hardware: str = ""
    library: str = ""
    ranks: int = 0
    sizes: tuple[Size, ...] = ()
    rate: float | None = None
    wrong: int = 0
    error: str = ""


class PairGroup(NamedTuple):
    """Nodes of like hardware: only they are compared.

    Attributes:
        hardware: as a text.
        gpus: of each node; 0: the CPUs sum.
        names: of the nodes, neighbors next to each other.
    """

    hardware: str
    gpus: int
    names: tuple[str, ...]


def plan(names: Sequence[str]) -> list[list[tuple[str, str]]]:
    """The rounds: in each, a node is in one pair at most; after all, each has summed with both its neighbors.

    The last node is the first one's neighbor, so that every node has two links: one that is slow over both is slow
    itself. Two nodes have one link.
    """
    count = len(names)
    if count < 3:
        return [[(names[0], names[1])]] if count == 2 else []
    pairs = [(names[at], names[(at + 1) % count]) for at in range(count)]
    rounds = [pairs[0 : count - count % 2 : 2], pairs[1::2]]
    return [*rounds, [pairs[-1]]] if count % 2 else rounds


def waves(pairs: Sequence[tuple[str, str]], fan: int) -> list[Sequence[tuple[str, str]]]:
    """Pairs that run at once: both nodes of one always do, for neither can wait long for the other."""
    each = max(1, fan // 2)
    return [pairs[at : at + each] for at in range(0, len(pairs), each)]


def link(
    number: int, nodes: tuple[str, str], hardware: str, sides: Mapping[str, PairReport], ends: Mapping[str, str]
) -> PairLink:
    """What both sides know together.

    Args:
        number: of the round.
        nodes: the pair.
        hardware: what both are.
        sides: what nodes sent, by name.
        ends: why nodes sent nothing, by name.
    """
    both = [sides[node] for node in nodes if node in sides]
    errors = [f"{node}: {said}" for node in nodes if (said := _error(node, sides, ends))]
    whole = len(both) == 2 and not errors
    sizes = tuple(max(pair, key=lambda one: one.seconds) for pair in zip(*(one.sizes for one in both), strict=False))
    return PairLink(
        round=number,
        nodes=nodes,
        hardware=hardware,
        library=both[0].library if both else "",
        ranks=both[0].ranks if both else 0,
        sizes=sizes if whole else (),
        rate=sizes[-1].rate if whole and sizes else None,
        wrong=max((one.wrong for one in both), default=0),
        error="" if whole and sizes else "; ".join(errors) or "Neither node reports a reason.",
    )


def _error(node: str, sides: Mapping[str, PairReport], ends: Mapping[str, str]) -> str:
    if node in sides:
        return sides[node].error
    return ends.get(node) or "It sent nothing."
