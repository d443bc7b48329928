"""The grid's geometry and its cells: how many nodes a line has, what is under the mouse, and what is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from gpudoctor.tui.diagnosis.commands import one_line
from gpudoctor.tui.fleet.nodes import Nodes
from gpudoctor.tui.fleet.states import look

TEN = 10  # nodes between two gaps, so that they can be counted
LONGEST = 16  # columns of a line's label
MOST = 24  # columns of a name in its cell

Piece = tuple[str, str]  # a text and its style


class Layout(NamedTuple):
    """How the nodes lie.

    Attributes:
        total: how many nodes there are.
        across: nodes in a line.
        cell: columns of a node.
        label: columns of the name that a line begins with; 0: it has none.
        named: whether each node's name stands in its cell.
    """

    total: int
    across: int
    cell: int
    label: int = 0
    named: bool = False

    @property
    def rows(self) -> int:
        """How many lines there are."""
        return -(-self.total // self.across)

    def at(self, x: int, y: int) -> int | None:
        """The node in this column of this line; None: there is none."""
        x -= self.label
        if x < 0 or y < 0:
            return None
        column = x // self.cell
        if not self.named:
            block, inside = divmod(x, TEN * self.cell + 1)
            if inside == TEN * self.cell:
                return None
            column = block * TEN + inside // self.cell
        node = y * self.across + column
        return node if column < self.across and node < self.total else None


def layout(count: int, longest: int, width: int, height: int) -> Layout:
    """The roomiest way in which all nodes are in sight, else the densest.

    Args:
        count: of the nodes.
        longest: columns of the longest name.
        width: columns of the room.
        height: its lines.
    """
    cell = min(longest, MOST) + 3
    named = Layout(count, max(1, width // cell), cell, named=True)
    if named.rows <= height and cell <= width:
        return named
    label = min(longest, LONGEST) + 1 if width >= 30 else 0
    roomy, dense = (_lettered(count, width - label, cell, label) for cell in (2, 1))
    return roomy if roomy.rows <= height else dense


def _lettered(count: int, room: int, cell: int, label: int) -> Layout:
    tens = (room + 1) // (TEN * cell + 1)
    return Layout(count, tens * TEN or max(1, room // cell), cell, label)


class Marks(NamedTuple):
    """What is marked in the grid.

    Attributes:
        cursor: the node on which it is.
        lit: the nodes of what is selected or searched for; None: nothing is.
    """

    cursor: int = 0
    lit: frozenset[int] | None = None

    def style(self, node: int, state: str) -> str:
        """The style of a node: of its state, dimmed next to those that are lit, or of the cursor."""
        if node == self.cursor:
            return "cursor"
        style = look(state).style
        if self.lit is None:
            return style
        return f"lit {style}" if node in self.lit else f"unlit {style}"


def line(nodes: Nodes, how: Layout, row: int, marks: Marks) -> list[Piece]:
    """A line of the grid, in pieces of one style each."""
    first = row * how.across
    last = min(first + how.across, how.total)
    if first >= last:
        return []
    pieces: list[Piece] = []
    if how.label:
        pieces.append((fitted(nodes.names[first], how.label - 1) + " ", "label"))
    for node in range(first, last):
        if not how.named and node > first and (node - first) % TEN == 0:
            pieces.append((" ", "gap"))
        style = marks.style(node, nodes.states[node])
        pieces += _cell(nodes, how, node, style)
    return joined(pieces)


def _cell(nodes: Nodes, how: Layout, node: int, style: str) -> list[Piece]:
    letter = look(nodes.states[node]).letter
    if not how.named:
        return [(letter.ljust(how.cell), style)]
    name = fitted(nodes.names[node], how.cell - 3)
    return [(f"{letter} {name}", style), (" ", "gap")]


def fitted(name: str, width: int) -> str:
    """A name, harmless, in so many columns; of a longer one the end stays, by which nodes differ."""
    name = one_line(name)
    if cell_len(name) > width:
        while name and cell_len(name) >= width:
            name = name[1:]
        name = "…" + name
    return set_cell_size(name, width)


def joined(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces, neighbors of one style as one."""
    found: list[Piece] = []
    for text, style in pieces:
        if found and found[-1][1] == style:
            found[-1] = (found[-1][0] + text, style)
        else:
            found.append((text, style))
    return found
