"""Takes names out of a summary before it is handed on: of people always, of nodes where that is wished for."""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from gpudoctor.facts import Facts
from gpudoctor.fleet.faces.nodes import natural, unfolded
from gpudoctor.fleet.nodesets import fold
from gpudoctor.fleet.summary import Fleet
from gpudoctor.privacy import Masks

SETS, NAMES = ("nodes",), ("node", "example")  # fields that hold folded names, and one name
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*[A-Za-z0-9_]|[A-Za-z0-9_]")


def masked(fleet: Fleet, nodes: bool = False) -> Fleet:
    """The summary without names of users, home folders and addresses.

    Args:
        fleet: as it was read.
        nodes: whether nodes get other names too: node1 is the first in natural order.
    """
    text = Masks(Facts()).text
    if not nodes:
        return _with_names(fleet, text, str, str)
    names = {name for field in _sets(fleet) for name in unfolded(field)}
    width = len(str(len(names)))
    other = {name: f"node{number:0{width}d}" for number, name in enumerate(sorted(names, key=natural), 1)}
    short: dict[str, str] = {}
    for name, instead in other.items():
        short.setdefault(name.partition(".")[0], instead)  # a sentence may leave the domain out
    known = short | other

    def told(said: str) -> str:
        return _WORD.sub(lambda word: known.get(word[0], word[0]), text(said))

    return _with_names(
        fleet,
        told,
        lambda folded: fold(other.get(name, "node0") for name in unfolded(folded)),
        lambda name: other.get(name, "node0"),
    )


Text = Callable[[str], str]


def _with_names(fleet: Fleet, text: Text, folded: Text, name: Text) -> Fleet:
    found: Fleet = _walked(fleet, text, folded, name)
    return found


def _walked(node: Any, text: Text, folded: Text, name: Text) -> Any:
    """The same tree with each text replaced by what fits its field."""
    if isinstance(node, str):
        return text(node)
    if isinstance(node, tuple):
        return tuple(_walked(one, text, folded, name) for one in node)
    if isinstance(node, dict):
        return {key: _walked(one, text, folded, name) for key, one in node.items()}
    if not isinstance(node, msgspec.Struct):
        return node
    found: dict[str, Any] = {}
    for field in node.__struct_fields__:
        value = getattr(node, field)
        if field in SETS:
            found[field] = folded(value)
        elif field in NAMES:
            found[field] = name(value)
        elif isinstance(node, Fleet) and field == "states":
            found[field] = {state: folded(nodes) for state, nodes in value.items()}
        else:
            found[field] = _walked(value, text, folded, name)
    return type(node)(**found)


def _sets(fleet: Fleet) -> list[str]:
    """Each folded set, and each name, that the summary holds."""
    return [
        *fleet.states.values(),
        *(one.nodes for one in fleet.causes),
        *(one.nodes for one in fleet.missing),
        *(one.nodes for one in fleet.groups),
        *(one.nodes for one in fleet.changes),
        *(one.example for one in fleet.causes),
        *(one.nodes for drift in fleet.drifts for one in drift.departures),
        *(one.node for spread in fleet.spreads for one in spread.outliers),
    ]
