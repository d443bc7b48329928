"""Takes from the expectations of a fleet the nodes for which another cause reports the same: missing GPUs, once."""

from collections.abc import Iterator

import msgspec

from gpudoctor.fleet.aggregate.causes import ranked
from gpudoctor.fleet.aggregate.nodeset_expansion import unfolded
from gpudoctor.fleet.aggregate.requested_gpus import CHECK, missing_by
from gpudoctor.fleet.aggregate.targets import in_order
from gpudoctor.fleet.nodesets import fold
from gpudoctor.fleet.summary import Cause, Fleet
from gpudoctor.lazy_regex import pattern
from gpudoctor.registry import is_rule

# What the evidence of a rule begins with that wants more GPUs than there are, and a line of it: a value on its nodes.
_WANTED = pattern(r"gpus: expected (?:>=|==)?(\d{1,6}) of them\Z")
_FOUND = pattern(r"found (\d{1,6}) on (\S+)")
_ABSENT = pattern(r"found none: gpus\.\d+ does not exist on (\S+)")


def without_repeated(fleet: Fleet) -> Fleet:
    """The summary in which a node that lacks GPUs by a comparison of nodes is not listed for that by a rule too."""
    missing = missing_by(fleet, {CHECK})
    if not missing or not any(is_rule(one.check) for one in fleet.causes):
        return fleet
    return msgspec.structs.replace(fleet, causes=ranked(_left(fleet, missing)))


def _left(fleet: Fleet, missing: set[str]) -> Iterator[Cause]:
    for one in fleet.causes:
        lines = list(one.evidence[1:])
        few = [line for line in lines if is_rule(one.check) and _is_few(one.evidence[0], line)]
        if not few:
            yield one
            continue
        nodes = set(unfolded(one.nodes, one.count))
        gone = {node for line in few for node in unfolded(line.rpartition(" on ")[2], one.count)} & missing
        if left := nodes - gone:
            yield _narrowed(one, lines, few, left) if gone else one


def _is_few(wanted: str, line: str) -> bool:
    """Whether a line of evidence is of nodes that have fewer GPUs than the rule wants."""
    count, found = _WANTED.match(wanted), _FOUND.fullmatch(line)
    return bool(_ABSENT.fullmatch(line) or (count and found and int(found[1]) < int(count[1])))


def _narrowed(one: Cause, lines: list[str], few: list[str], left: set[str]) -> Cause:
    """A rule for the nodes that are left; where the example is gone, nothing is said in its words."""
    kept = []
    for line in lines:
        value, _, nodes = line.rpartition(" on ")
        its = [node for node in unfolded(nodes, one.count) if node in left] if line in few else [nodes]
        kept += [f"{value} on {fold(its) if line in few else nodes}"] if its else []
    example = one.example if one.example in left else min(left)
    return msgspec.structs.replace(
        one,
        nodes=fold(left),
        count=len(left),
        times=len(left),
        example=example,
        message=one.message if example == one.example else "",
        evidence=(one.evidence[0], *kept),
        targets=in_order(
            (each.targets, [node for node in unfolded(each.nodes, each.count) if node in left]) for each in one.targets
        ),
    )
