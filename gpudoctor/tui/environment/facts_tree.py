"""All facts as a tree whose branches are made when they are opened."""

from __future__ import annotations

from typing import Any, ClassVar

from rich.style import Style
from rich.text import Text
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

from gpudoctor.comparison.value_text import is_unknown
from gpudoctor.report.sanitize import clean
from gpudoctor.tui.environment.facts_model import Place, at, children, value_of

Node = TreeNode[Place]


class FactsTree(Tree[Place]):
    """The facts."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"facts--value", "facts--part", "facts--unknown", "facts--hit"}
    DEFAULT_CSS = """
    FactsTree {
        height: 1fr;
        padding: 0 1;
        background: $background;
        .facts--value { color: $text-success; }
        .facts--part { text-style: dim; }
        .facts--unknown { color: $text-warning; text-style: italic; }
        .facts--hit { text-style: underline; }
    }
    """

    def __init__(self) -> None:
        super().__init__("facts", data=())
        self.guide_depth = 2
        self.facts: Any = None
        self.hits: frozenset[Place] = frozenset()

    def show(self, facts: Any) -> None:
        """Show these facts; what was open stays open, and the cursor where it was."""
        opened = [node.data for node in self._known() if node.is_expanded and node.data is not None]
        cursor = self.cursor_node.data if self.cursor_node is not None else None
        self.facts = facts
        self.reset("facts", ())
        self._fill(self.root)
        self.root.expand()
        for place in sorted((place for place in opened if place), key=len):
            node = self._reach(place)
            if node is not None:
                self._fill(node)
                node.expand()
        self._go(self._reach(cursor or ()) or self.root)

    def reveal(self, place: Place) -> None:
        """Open what lies above a place, and go there."""
        node = self._reach(place)
        if node is not None:
            for above in _above(node):
                above.expand()
            self._go(node)

    def mark(self, hits: frozenset[Place]) -> None:
        """Underline the places that were found."""
        self.hits = hits
        self.notify_style_update()
        self.refresh()

    def render_label(self, node: Node, base_style: Style, style: Style) -> Text:
        """The key and what is said of its value; never markup."""
        place = node.data or ()
        key = clean(str(place[-1])) if place else "facts"
        try:
            value = at(self.facts, place)
        except (KeyError, IndexError, TypeError):
            value = None
        below = bool(children(value))
        kind = "unknown" if is_unknown(value) else "part" if below else "value"
        hit = self.get_component_rich_style("facts--hit", partial=True) if place in self.hits else Style()
        own = (
            style
            if style.bgcolor or not place
            else style + self.get_component_rich_style(f"facts--{kind}", partial=True)
        )
        prefix = ("▾ " if node.is_expanded else "▸ ") if below else "  "
        said = f"  {value_of(value)}" if place else ""
        return Text.assemble((prefix, base_style), (key, style + hit), (said, own))

    def get_label_width(self, node: Node) -> int:
        """The width of a row's text."""
        return self.render_label(node, Style(), Style()).cell_len

    def on_tree_node_expanded(self, event: Tree.NodeExpanded[Place]) -> None:
        """Make the children of a branch when it is opened."""
        self._fill(event.node)

    def _fill(self, node: Node) -> None:
        """Make the children of a branch, once."""
        if node.children or self.facts is None:
            return
        place = node.data or ()
        for key, child in children(at(self.facts, place)):
            node.add("", data=(*place, key), allow_expand=bool(children(child)))

    def _reach(self, place: Place) -> Node | None:
        """The node of a place; what lies above it is made."""
        node = self.root
        for depth in range(len(place)):
            self._fill(node)
            found = next((child for child in node.children if child.data == place[: depth + 1]), None)
            if found is None:
                return None
            node = found
        return node

    def _go(self, node: Node) -> None:
        if self.last_line >= 0:  # asking for it builds the rows, without which a node knows no row of its own
            self.move_cursor(node)
            # Once more when a scroll bar that the row makes necessary is there.
            self.call_after_refresh(self.scroll_to_node, node, animate=False)

    def _known(self) -> list[Node]:
        """All nodes that were made."""
        nodes, todo = [], [self.root]
        while todo:
            node = todo.pop()
            nodes.append(node)
            todo += node.children
        return nodes


def _above(node: Node) -> list[Node]:
    above = []
    while (parent := node.parent) is not None:
        above.append(parent)
        node = parent
    return above[::-1]
