"""The tree of all facts with its search."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from gpudoctor.facts import Facts
from gpudoctor.tui.clipboard import send
from gpudoctor.tui.environment.facts_model import Place, copied, plain, search
from gpudoctor.tui.environment.facts_tree import FactsTree

NOTHING = "Facts are available when all probes have finished."


class FactsView(Vertical):
    """All facts."""

    DEFAULT_CSS = """
    FactsView { height: 1fr; }
    FactsView > Static { height: 1; padding: 0 1; color: $text-muted; }
    FactsView > Input { margin: 0 1; display: none; }
    FactsView.searching > Input { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "next(1)", "Next"),
        Binding("N", "next(-1)", "Previous", key_display="N"),
        Binding("c", "copy", "Copy"),
        Binding("escape", "leave", "Clear search", show=False),
    ]

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self._facts: Facts | None = None
        self._hits: list[Place] = []
        self._at = -1

    def compose(self) -> ComposeResult:
        """A row that says what was found, the tree, and the search."""
        yield Static(NOTHING, markup=False)
        yield FactsTree()
        yield Input(placeholder="Search keys and values; Enter goes to the first match", compact=True)

    @property
    def facts_tree(self) -> FactsTree:
        """The tree."""
        return self.query_one(FactsTree)

    def show(self, facts: Facts | None) -> None:
        """Show the facts, where they are others."""
        if facts is None or facts is self._facts:
            return
        self._facts = facts
        self.facts_tree.show(plain(facts))
        self._search(self.query_one(Input).value, move=False)

    # -- search ----------------------------------------------------------------------------------------------

    def action_search(self) -> None:
        """Open the search."""
        self.add_class("searching")
        self.query_one(Input).focus()

    def action_leave(self) -> None:
        """Leave the search; what was found stays marked until another is begun."""
        self.remove_class("searching")
        self.facts_tree.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search while somebody types."""
        event.stop()
        self._search(event.value, move=True)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Back to the tree, at what was found."""
        event.stop()
        self.action_leave()

    def action_next(self, step: int) -> None:
        """Go to the next place that was found, or the one before."""
        if self._hits:
            self._at = (self._at + step) % len(self._hits)
            self.facts_tree.reveal(self._hits[self._at])
        self._say()

    def _search(self, words: str, move: bool) -> None:
        self._hits = search(self.facts_tree.facts, words.strip())
        self._at = 0 if self._hits else -1
        self.facts_tree.mark(frozenset(self._hits))
        if move and self._hits:
            self.facts_tree.reveal(self._hits[0])
        self._say()

    def _say(self) -> None:
        words = self.query_one(Input).value.strip()
        if self._facts is None:
            said = NOTHING
        elif not words:
            said = "/ searches keys and values, c copies a path and its value"
        elif not self._hits:
            said = f"No match for {words}"
        else:
            said = f"{self._at + 1} of {len(self._hits)} matches for {words}: n next, N previous"
        self.query_one(Static).update(said)

    # -- copying ---------------------------------------------------------------------------------------------

    def action_copy(self) -> None:
        """Copy the place under the cursor and its value."""
        node = self.facts_tree.cursor_node
        if node is None or self.facts_tree.facts is None:
            return
        text = copied(self.facts_tree.facts, node.data or ())
        send(self.app, text, text if len(text) < 200 else f"{text[:200]}…")
