"""Takes names out of a summary before it is handed on: of people always, of nodes where that is wished for."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from gpudoctor.facts import Facts
from gpudoctor.fleet.aggregate.nodeset_expansion import MOST, names
from gpudoctor.fleet.nodesets import fold, sortable
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
    "evidence",
    "undo",
    "verify",
    "next",
    "value",
)  # that may name a node
TASKS = ("argv", "line", "text", "add", "path", "env")  # of fixes as data, which say what their commands say
MASKED = "masked-node"
# node[001-128,140] in a sentence
_SEVERAL = re.compile(r"(?<![A-Za-z0-9_.-])[A-Za-z0-9_.-]*(?:\[[0-9,-]{1,5000}\][A-Za-z0-9_.-]*)+")
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*[A-Za-z0-9_]|[A-Za-z0-9_]")


def harmless(fleet: Fleet) -> Fleet:
    """The summary without secrets, which are in no output; a node's name is none, whatever it looks like."""
    return _with_names(fleet, _Rules(without_secrets, without_secrets, _kept, str))


def masked(fleet: Fleet, nodes: bool = False) -> Fleet:
    """The summary without names of users, home directories and addresses.

    Args:
        fleet: as it was read.
        nodes: whether nodes get other names too, which nobody takes for real ones: masked-node1 is the first in
            natural order.
    """
    text = Masks(Facts()).text
    if not nodes:
        return _with_names(fleet, _Rules(text, text, _kept, str))
    place = {name: 0 for folded, count in _sets(fleet) for name in names(folded, count)}
    width = len(str(len(place)))
    short: dict[str, str] = {}
    for number, name in enumerate(sorted(place, key=sortable), 1):
        place[name] = number
        if "." in name:  # a sentence may leave the domain out, or have one that the name has not
            short.setdefault(name.partition(".")[0], name)

    def other(name: str) -> str:
        return f"{MASKED}{place[name]:0{width}d}" if name in place else f"{MASKED}0"

    def folded(nodes: str, count: int = MOST) -> str:
        return fold(map(other, names(nodes, count)))

    def several(found: re.Match[str]) -> str:
        return folded(found[0]) if all(name in place for name in names(found[0])) else found[0]

    def word(found: re.Match[str]) -> str:
        start = found[0].partition(".")[0]
        whole = next((one for one in (found[0], start, short.get(start, "")) if one in place), "")
        return other(whole) if whole else found[0]

    rules = _Rules(
        text,
        lambda said: _WORD.sub(word, _SEVERAL.sub(several, text(said))),
        folded,
        other,
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
        *((one.nodes, one.count) for cause in fleet.causes for one in cause.variants),
        *((one.nodes, one.count) for drift in fleet.drifts for one in drift.departures),
        *((one.node, 1) for spread in fleet.spreads for one in spread.outliers),
    ]
