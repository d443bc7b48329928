"""The fixes of a cause for all of its nodes; where these need different commands, each under the names of its nodes."""

import msgspec

from gpudoctor.fleet.aggregate.nodeset_expansion import names
from gpudoctor.fleet.cause_targets import narrowed
from gpudoctor.fleet.summary import Cause, CauseVariant
from gpudoctor.lazy_regex import pattern
from gpudoctor.report.model import FixEntry
from gpudoctor.report.numbers import number

_OWN = pattern(
    r"(^|[.:] )?\b(GPU|device|rank) \d+"
)  # what a sentence about one node names, and one about many does not


def of_all(cause: Cause) -> str:
    """Why the problem occurs, in words that are true of all nodes."""
    return _without_index(cause.cause) if cause.variants else cause.cause


def of_node(cause: Cause, node: str) -> Cause:
    """The cause with the words and the commands of one of its nodes alone, where they were kept."""
    cause = narrowed(cause, node)
    own = [one for one in cause.variants if node in names(one.nodes, one.count)]
    if len(own) == 1:
        return msgspec.structs.replace(cause, cause=of_all(cause), fixes=own[0].fixes, variants=())
    mine = tuple(msgspec.structs.replace(one, nodes=node, count=1) for one in own)  # several of its GPUs have it
    return msgspec.structs.replace(cause, variants=mine) if mine else cause


def fixes(cause: Cause) -> tuple[FixEntry, ...]:
    """The fixes of a cause; where nodes need different commands, a comment of the shell names the nodes of each."""
    if not cause.check:
        return ()  # those of many causes together fix none of them
    if not cause.variants:
        return cause.fixes
    several = zip(*(one.fixes for one in cause.variants), strict=False)  # as many, unless a file was made up
    return tuple(_fix(cause, place, first) for place, (first, *_) in enumerate(several))


def _fix(cause: Cause, place: int, first: FixEntry) -> FixEntry:
    """One fix for all nodes: like commands together, and only once where they are the same everywhere."""
    commands: dict[tuple[str, ...], list[CauseVariant]] = {}
    verify: dict[tuple[str, ...], list[CauseVariant]] = {}
    for variant in cause.variants:
        one = variant.fixes[place]
        commands.setdefault(one.commands, []).append(variant)
        verify.setdefault((one.verify,) if one.verify else (), []).append(variant)
    left = cause.count - 1 if cause.variants[0].count == 1 == len(cause.variants) else 0
    return msgspec.structs.replace(
        first,
        message=_without_index(first.message),
        commands=_by_nodes(commands, left),
        verify="\n".join(_by_nodes(verify, 0)) or None,
        undo=first.undo if len({one.fixes[place].undo for one in cause.variants}) == 1 and not left else None,
    )


def _by_nodes(found: dict[tuple[str, ...], list[CauseVariant]], left: int) -> tuple[str, ...]:
    """Commands under the nodes that they are for, a text for each; `left` nodes have commands that nobody kept."""
    if len(found) == 1 and not left:
        return next(iter(found))
    texts = ["\n".join((f"# on {_sets(some)}:", *lines)) for lines, some in found.items() if lines]
    if left and texts:
        texts.append(f"# on each of the {number(left)} others the commands differ: gpudoctor check shows them there")
    return tuple(texts)


def _sets(variants: list[CauseVariant]) -> str:
    return ",".join(one.nodes for one in variants)


def _without_index(text: str) -> str:
    return _OWN.sub(lambda found: f"{found[1]}The {found[2]}" if found[1] is not None else f"the {found[2]}", text)
