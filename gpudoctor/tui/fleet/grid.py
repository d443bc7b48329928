"""The grid of nodes: a cell each, of which only the lines in sight are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style

from gpudoctor.tui.fleet.grid_layout import Layout, Marks, layout, line
from gpudoctor.tui.fleet.nodes import Nodes

if TYPE_CHECKING:
    from gpudoctor.tui.app import Doctor

COLOURS = {"fail": "error", "warn": "warning", "lost": "primary", "open": "accent", "pass": "success"}
# What is marked is drawn the other way round; what is not then loses its ground.
COLOURED = {
    **{style: f"bold $text-{name} on ${name} 20%" for style, name in COLOURS.items()},
    **{f"unlit {style}": f"$text-{name}" for style, name in COLOURS.items()},
    **{f"lit {style}": f"bold $background on $text-{name}" for style, name in COLOURS.items()},
    "label": "$foreground-muted",
    "gap": "",
    "cursor": "bold $background on $foreground",
    "cursor away": "underline $foreground on $panel",
}
# Without colors letters tell the states; what is marked is bold and underlined, the cursor is reversed.
PLAIN = {**{f"lit {style}": "bold underline" for style in COLOURS}, "cursor": "reverse", "cursor away": "underline"}


class NodeGrid(ScrollView, can_focus=True):
    """The grid."""

    DEFAULT_CSS = """
    NodeGrid { height: 1fr; scrollbar-gutter: stable; scrollbar-size: 0 1; background: $background; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1)", "Left", show=False, tooltip="Previous node"),
        Binding("right", "step(1)", "Right", show=False, tooltip="Next node"),
        Binding("up", "line(-1)", "Up", show=False, tooltip="Up and down"),
        Binding("down", "line(1)", "Down", show=False, tooltip="Up and down"),
        Binding("pageup", "page(-1)", "Page up", show=False, tooltip="By pages"),
        Binding("pagedown", "page(1)", "Page down", show=False, tooltip="By pages"),
        Binding("home", "end(0)", "First", show=False, tooltip="First node, last node"),
        Binding("end", "end(1)", "Last", show=False, tooltip="First node, last node"),
        Binding("enter", "open", "Open", tooltip="Open the report of the selected node"),
    ]

    class Chosen(Message):
        """Somebody has put the cursor on a node."""

    class Sized(Message):
        """It has another size than before."""

    class Opened(Message):
        """Somebody wants to see a node's report."""

    def __init__(self) -> None:
        super().__init__(id="fleet-grid")
        self.nodes: Nodes | None = None
        self.marks = Marks()
        self._how = Layout(0, 1, 1)
        self._styles: dict[str, RichStyle] = {}
        self._drawn_for: tuple[object, ...] = ()

    def show(self, nodes: Nodes | None) -> None:
        """Show other nodes; the cursor stays on the one of the same name."""
        name = self.name_at_cursor
        self.nodes = nodes
        place = nodes.place(name) if nodes is not None and name is not None else None
        self.marks = Marks(place or 0)
        self._lay_out()

    @property
    def name_at_cursor(self) -> str | None:
        """The node on which the cursor is; None: there are none."""
        return self.nodes.names[self.marks.cursor] if self.nodes is not None and self.nodes.names else None

    def light(self, lit: frozenset[int] | None) -> None:
        """Mark some nodes, and let the others step back; None: mark none."""
        if lit != self.marks.lit:
            self.marks = self.marks._replace(lit=lit)
            self.refresh()

    def reveal(self, node: int) -> None:
        """Scroll to a node, wherever the cursor is."""
        self.scroll_to_region(Region(0, node // self._how.across, 1, 1), animate=False, force=True)

    def move(self, node: int) -> None:
        """Put the cursor on a node."""
        if self.nodes is not None and 0 <= node < len(self.nodes.names):
            before, self.marks = self.marks.cursor, self.marks._replace(cursor=node)
            self.reveal(node)
            for row in {before // self._how.across, node // self._how.across}:
                self.refresh_line(row)
            self.post_message(self.Chosen())

    # -- what is drawn -------------------------------------------------------------------------------------

    def on_resize(self) -> None:
        """The nodes lie otherwise."""
        self._lay_out()
        self.post_message(self.Sized())

    def on_focus(self) -> None:
        """The cursor is marked more strongly."""
        self.refresh()

    def on_blur(self) -> None:
        """And less."""
        self.refresh()

    def _lay_out(self) -> None:
        room = self.scrollable_content_region.size
        count, widest = (len(self.nodes.names), self.nodes.widest) if self.nodes is not None else (0, 0)
        self._how = layout(count, widest, max(1, room.width), room.height)
        self.virtual_size = Size(room.width, self._how.rows)
        if count:
            self.reveal(self.marks.cursor)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line of those in sight."""
        width, plain = self.size.width, self.visual_style
        if self.nodes is None:
            return Strip.blank(width, plain.rich_style)
        pieces = line(self.nodes, self._how, y + self.scroll_offset.y, self.marks)
        segments = [Segment(text, self._style(name)) for text, name in pieces]
        return Strip(segments).adjust_cell_length(width, plain.rich_style)

    def _style(self, name: str) -> RichStyle:
        now = (self.visual_style, self.app.theme)
        if self._drawn_for != now:
            self._drawn_for, self._styles = now, {}
        if name == "cursor" and not self.has_focus:
            name = "cursor away"
        found = self._styles.get(name)
        if found is None:
            found = self._styles[name] = self._made(name)
        return found

    def _made(self, name: str) -> RichStyle:
        coloured = cast("Doctor", self.app).colour
        return (self.visual_style + Style.parse((COLOURED if coloured else PLAIN).get(name, ""))).rich_style

    # -- keys and mouse ------------------------------------------------------------------------------------

    def action_step(self, by: int) -> None:
        """So many nodes on."""
        self.move(self.marks.cursor + by)

    def action_line(self, by: int) -> None:
        """So many lines down; from the last whole line to the last node."""
        if self.nodes is None:
            return
        node, last = self.marks.cursor + by * self._how.across, len(self.nodes.names) - 1
        if node > last and node // self._how.across == last // self._how.across:
            node = last
        self.move(node)

    def action_page(self, by: int) -> None:
        """A page down or up."""
        if self.nodes is None:
            return
        across, lines = self._how.across, max(1, self.scrollable_content_region.height - 1)
        last = len(self.nodes.names) - 1
        self.move(min(last, max(0, self.marks.cursor + by * lines * across)))

    def action_end(self, last: int) -> None:
        """The first node, or the last."""
        if self.nodes is not None:
            self.move(len(self.nodes.names) - 1 if last else 0)

    def action_next(self, by: int) -> None:
        """The next of the marked nodes, or the one before; after the last comes the first."""
        lit = sorted(self.marks.lit or ())
        if lit:
            here = self.marks.cursor
            beyond = [node for node in lit if (node > here if by > 0 else node < here)]
            ends = (lit[0], lit[-1])
            self.move((beyond[0] if by > 0 else beyond[-1]) if beyond else ends[by < 0])

    def action_open(self) -> None:
        """Show the node's report."""
        if self.name_at_cursor is not None:
            self.post_message(self.Opened())

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on the node under the mouse; a second click opens its report."""
        inside = event.get_content_offset(self)
        node = None if inside is None else self._how.at(inside.x, inside.y + self.scroll_offset.y)
        if node is not None:
            self.move(node)
            if event.chain == 2:
                self.action_open()
