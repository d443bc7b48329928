"""Takes names out of a summary before it is handed on: of people always, of nodes where that is wished for."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from gpudoctor.facts import Facts
from gpudoctor.fleet.aggregate.nodeset_expansion import MOST, unfolded
from gpudoctor.fleet.nodesets import fold, natural
from gpudoctor.fleet.summary import Fleet
from gpudoctor.privacy.masks import Masks
from gpudoctor.privacy.secrets import without_secrets

SETS, NAMES = ("nodes",), ("node", "example")  # fields that hold folded names, and one name
PROSE = (
    "message",
    "cause",
    "title",
    "why",
    "reason",
    "commands",
    "undo",
    "verify",
    "next",
    "value",
)  # that may name a node
TASKS = ("argv", "line", "text", "add", "path", "env")  # of fixes as data, which say what their commands say
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*[A-Za-z0-9_]|[A-Za-z0-9_]")


def harmless(fleet: Fleet) -> Fleet:
    """The summary without secrets, which are in no output; a node's name is none, whatever it looks like."""
    return _with_names(fleet, _Rules(without_secrets, without_secrets, _kept, str))


def masked(fleet: Fleet, nodes: bool = False) -> Fleet:
    """The summary without names of users, home directories and addresses.

    Args:
        fleet: as it was read.
        nodes: whether nodes get other names too: node1 is the first in natural order.
    """
    text = Masks(Facts()).text
    if not nodes:
        return _with_names(fleet, _Rules(text, text, _kept, str))
    names = {name for nodes, count in _sets(fleet) for name in unfolded(nodes, count)}
    width = len(str(len(names)))
    other = {name: f"node{number:0{width}d}" for number, name in enumerate(sorted(names, key=natural), 1)}
    short: dict[str, str] = {}
    for name, instead in other.items():
        short.setdefault(name.partition(".")[0], instead)  # a sentence may leave the domain out
    known = short | other

    def word(found: re.Match[str]) -> str:
        return known.get(found[0]) or short.get(found[0].partition(".")[0]) or found[0]

    rules = _Rules(
        text,
        lambda said: _WORD.sub(word, text(said)),
        lambda nodes, count: fold(other.get(name, "node0") for name in unfolded(nodes, count)),
        lambda name: other.get(name, "node0"),
    )
    return _with_names(fleet, rules)


Text = Callable[[str], str]


class _Rules(NamedTuple):
    """What is done to each text, besides to prose, to folded sets and to names."""

    text: Text
    prose: Text
    folded: Callable[[str, int], str]
    name: Text


def _with_names(fleet: Fleet, rules: _Rules) -> Fleet:
    found: Fleet = _walked(fleet, rules, rules.text)
    return found


def _walked(node: Any, rules: _Rules, text: Text) -> Any:
    """The same tree with each text replaced by what fits its field."""
    if isinstance(node, str):
        return text(node)
    if isinstance(node, tuple):
        return tuple(_walked(one, rules, text) for one in node)
    if isinstance(node, dict):
        return {key: _walked(one, rules, text) for key, one in node.items()}
    if not isinstance(node, msgspec.Struct):
        return node
    found = {name: _field(node, name, rules) for name in node.__struct_fields__}
    return type(node)(**found)


def _field(node: msgspec.Struct, field: str, rules: _Rules) -> Any:
    value = getattr(node, field)
    if field in SETS:
        return rules.folded(value, getattr(node, "count", MOST))
    if field in NAMES:
        return rules.name(value)
    if isinstance(node, Fleet) and field == "states":
        return {state: rules.folded(nodes, node.counts.get(state, MOST)) for state, nodes in value.items()}
    return _walked(value, rules, rules.prose if field in (*PROSE, *TASKS) else rules.text)


def _kept(folded: str, _: int) -> str:
    return folded


def _sets(fleet: Fleet) -> list[tuple[str, int]]:
    """Each folded set, and each name, that the summary holds, and how many nodes it means."""
    return [
        *((nodes, fleet.counts.get(state, MOST)) for state, nodes in fleet.states.items()),
        *((one.nodes, one.count) for one in fleet.causes),
        *((one.nodes, one.count) for one in fleet.missing),
        *((one.nodes, one.count) for one in fleet.groups),
        *((one.nodes, one.count) for one in fleet.changes),
        *((one.example, 1) for one in fleet.causes),
        *((one.nodes, one.count) for drift in fleet.drifts for one in drift.departures),
        *((one.node, 1) for spread in fleet.spreads for one in spread.outliers),
    ]
