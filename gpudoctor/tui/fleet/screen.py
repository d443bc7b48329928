"""The place "fleet": what is wrong on which nodes, where these are, and what to type."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input, Static

from gpudoctor.report.model import Report
from gpudoctor.tui.clipboard import send
from gpudoctor.tui.compare.background import aside
from gpudoctor.tui.diagnosis.copying import copy
from gpudoctor.tui.diagnosis.detail import FindingDetail
from gpudoctor.tui.diagnosis.page import Page
from gpudoctor.tui.diagnosis.styled import styled
from gpudoctor.tui.fleet import node_page, pages, words
from gpudoctor.tui.fleet.bar import FleetSearch, GridBar, NodeFilter
from gpudoctor.tui.fleet.fleet_list import FleetList
from gpudoctor.tui.fleet.grid import NodeGrid
from gpudoctor.tui.fleet.grid_layout import layout
from gpudoctor.tui.fleet.model import Opened
from gpudoctor.tui.fleet.node_report import NodeReport
from gpudoctor.tui.fleet.reader import FleetReader
from gpudoctor.tui.fleet.reading import report
from gpudoctor.tui.fleet.states import ranked
from gpudoctor.tui.footer import Footer
from gpudoctor.tui.header import Header

if TYPE_CHECKING:
    from gpudoctor.tui.app import Doctor


class FleetScreen(Screen[None]):
    """The screen."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012 - typed by Screen
    AUTO_FOCUS = "#fleet-list"
    DEFAULT_CSS = """
    FleetScreen {
        #fleet-summary { height: auto; max-height: 4; padding: 0 1; }
        #fleet { height: 1fr; layout: grid; grid-size: 2 2; }
        #fleet-nodes { padding: 0 0 0 1; }
        &.-wide #fleet { grid-columns: 2fr 3fr; grid-rows: 2fr 3fr; }
        &.-wide #fleet-left { row-span: 2; border-right: vkey $panel; }
        &.-wide FindingDetail { border-top: solid $panel; }
        &.-narrow #fleet { grid-columns: 11fr 9fr; grid-rows: 1fr 1fr; }
        &.-narrow FindingDetail { column-span: 2; border-top: solid $panel; }
        &.-narrow.-reading #fleet { grid-rows: 1fr 2fr; }
        FindingDetail:focus { border-top: heavy $primary; }
        &.-empty #fleet { grid-size: 1 1; grid-rows: 1fr; grid-columns: 1fr; }
        &.-well #fleet { grid-size: 1 2; grid-columns: 1fr; grid-rows: 1fr 1fr; }
        &.-well #fleet-left { display: none; }
        &.-well FindingDetail { column-span: 1; }
        &.-empty #fleet-left, &.-empty #fleet-nodes { display: none; }
        &.-empty FindingDetail { column-span: 1; border: none; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Back", tooltip="Back to the list, then clear the selection"),
        Binding("c", "copy", "Copy", tooltip="Copy the selected command, and save it to a file"),
        Binding("C", "copy_all", "Copy fix", show=False, tooltip="Copy all commands of the fix"),
        Binding("y", "copy_nodes", "Copy nodes", tooltip="Copy the nodes as a node set, for a scheduler or a shell"),
        Binding("slash", "search", "Search", key_display="/", tooltip="Select nodes by name or node set"),
        Binding("f", "state", "State", show=False, tooltip="Select nodes by state"),
        Binding("n", "next(1)", "Next node", show=False, tooltip="Next selected node, previous selected node"),
        Binding("N", "next(-1)", "Previous node", show=False, tooltip="Next selected node, previous selected node"),
        Binding("r", "again", "Reload", tooltip="Reload the reports"),
        Binding("w", "save", "Save", show=False, tooltip="Show export command"),
        Binding("o", "open", "Open", tooltip="Open the reports of another fleet"),
    ]

    class Found(Message):
        """The report of a node, or why there is none."""

        def __init__(self, node: str, result: tuple[str, Report] | str) -> None:
            super().__init__()
            self.node, self.result = node, result

    def __init__(self) -> None:
        super().__init__()
        self._view, self._of_node = NodeFilter(), False

    @property
    def doctor(self) -> Doctor:
        """The application."""
        return cast("Doctor", self.app)

    @property
    def opened(self) -> Opened:
        """The model."""
        return self.doctor.fleet

    def compose(self) -> ComposeResult:
        """Its widgets."""
        yield Header()
        yield Static(id="fleet-summary", markup=False)
        with Container(id="fleet"):
            with Vertical(id="fleet-left"):
                yield FleetList()
            with Vertical(id="fleet-nodes"):
                yield GridBar()
                yield FleetSearch()
                yield NodeGrid()
            yield FindingDetail()
        yield FleetReader()
        yield Footer()

    def on_mount(self) -> None:
        """Show what is there already, and read what is not."""
        self._show()
        if self.opened.fleet is None:
            self.action_again()

    def on_resize(self) -> None:
        """The first lines are broken again."""
        self._tell()

    # -- reading -------------------------------------------------------------------------------------------

    def action_again(self) -> None:
        """Read the reports, which may be more by now."""
        self.query_one(FleetReader).begin(self.opened)

    @on(FleetReader.Moved)
    def _moved(self) -> None:
        self._tell()

    @on(FleetReader.Ended)
    def _read(self) -> None:
        self._show()

    # -- what is shown -------------------------------------------------------------------------------------

    def _show(self) -> None:
        """Everything, after the fleet was read."""
        opened = self.opened
        self.set_class(opened.fleet is None, "-empty")
        self.set_class(opened.fleet is not None and not opened.entries, "-well")
        if opened.fleet is not None:
            self.query_one(FleetList).show(opened.fleet, opened.entries)
            self.query_one(NodeGrid).show(opened.nodes)
            if self.focused is None:
                self.query_one(FleetList if opened.entries else NodeGrid).focus()
        self._tell()
        self._light()
        self._explain()
        self._make_room()
        self.refresh_bindings()

    @on(NodeGrid.Sized)
    def _make_room(self) -> None:
        """Few nodes need few lines; where the list stands next to the grid, both have as many."""
        nodes, grid, fleet = self.opened.nodes, self.query_one(NodeGrid), self.query_one("#fleet")
        alone = self.has_class("-wide") or self.has_class("-well")
        if nodes is None or not alone:
            fleet.styles.grid_rows = None
            return
        if not grid.size.width:  # it is not laid out yet, and will say so
            return
        most = fleet.size.height // 2
        needed = layout(len(nodes.names), nodes.widest, grid.size.width - 1, most).rows + 1
        fleet.styles.grid_rows = f"{max(3, min(most, needed))} 1fr"

    def _tell(self) -> None:
        rows = words.lines(self.opened, max(20, self.size.width - 2))
        self.query_one("#fleet-summary", Static).update(Content("\n").join(styled(row) for row in rows))

    def _lit(self) -> frozenset[int] | None:
        """The nodes to mark: those that are searched for, else those of a state, else of the list's line."""
        nodes, entry = self.opened.nodes, self.query_one(FleetList).entry
        if nodes is None:
            return None
        if self._view.words:
            return nodes.found(self._view.words)
        if self._view.state:
            return frozenset(at for at, state in enumerate(nodes.states) if state == self._view.state)
        if entry is None or not entry.sets:
            return None
        return frozenset().union(*(nodes.of(*some) for some in entry.sets))

    def _light(self) -> None:
        lit, grid = self._lit(), self.query_one(NodeGrid)
        grid.light(lit)
        if lit and not self._of_node:
            grid.reveal(min(lit))
        self.query_one(GridBar).show(self._view, lit)

    def _explain(self) -> None:
        """Say what is known of the line of the list, or of the node, whichever was chosen last."""
        detail, opened, node = self.query_one(FindingDetail), self.opened, self.query_one(NodeGrid).marks.cursor
        entry, fleet, nodes = self.query_one(FleetList).entry, opened.fleet, opened.nodes
        if fleet is None or nodes is None:
            detail.show(None, lambda width: words.nothing(opened, width, not self.app.is_web))
        elif nodes.names and (self._of_node or entry is None):
            detail.show(f"node {nodes.names[node]}", lambda width: node_page.page(fleet, nodes, node, width))
        elif entry is not None:
            detail.show(entry.key, lambda width: pages.page(entry, width))
        else:
            detail.show(None, lambda _: Page())

    def _choose(self, of_node: bool) -> None:
        self._of_node = of_node
        self._explain()

    @on(FleetList.Chosen)
    def _line_chosen(self) -> None:
        self._view = self._view._replace(state="")
        self._choose(of_node=False)
        self._light()

    @on(NodeGrid.Chosen)
    def _node_chosen(self) -> None:
        self._choose(of_node=True)

    def on_descendant_focus(self) -> None:
        """The detail follows the cursor; on a narrow screen, who reads gets the room."""
        if isinstance(self.focused, FleetList | NodeGrid):
            self._choose(isinstance(self.focused, NodeGrid))
        self.set_class(isinstance(self.focused, FindingDetail), "-reading")

    @on(FleetList.Opened)
    def _read_on(self) -> None:
        self.query_one(FindingDetail).focus()

    @on(FleetList.ToGrid)
    def _to_grid(self) -> None:
        lit, grid = self._lit(), self.query_one(NodeGrid)
        if lit and grid.marks.cursor not in lit:
            grid.move(min(lit))
        grid.focus()

    @on(FindingDetail.Back)
    def _back(self) -> None:
        self.query_one(NodeGrid if self._of_node else FleetList).focus()

    # -- keys ----------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that do nothing now are not listed."""
        if not self.is_mounted:
            return True
        if action == "leave":
            return self._view.narrowed or not isinstance(self.focused, FleetList)
        if action in ("copy", "copy_all", "copy_nodes", "search", "state", "next"):
            return self.opened.fleet is not None
        if action == "open":
            return not self.app.is_web
        return super().check_action(action, parameters)

    def _look(self, view: NodeFilter) -> None:
        self._view = view
        self._light()
        self.refresh_bindings()

    def action_search(self) -> None:
        """Write what is searched for."""
        self.query_one(FleetSearch).open()

    @on(Input.Changed, "#fleet-search")
    def _searched(self, event: Input.Changed) -> None:
        self._of_node = False
        self._look(NodeFilter(event.value.strip()))

    @on(Input.Submitted, "#fleet-search")
    def _search_ended(self) -> None:
        self._to_grid()

    def action_state(self) -> None:
        """Mark the nodes of the next state; after the last, what the list says again."""
        fleet = self.opened.fleet
        states = ["", *(ranked(fleet.counts) if fleet is not None else [])]
        now = states.index(self._view.state) if self._view.state in states else 0
        self.query_one(FleetSearch).close()
        self._of_node = False
        self._look(NodeFilter(state=states[(now + 1) % len(states)]))

    def action_next(self, by: int) -> None:
        """The next of the marked nodes, or the one before."""
        grid = self.query_one(NodeGrid)
        grid.action_next(by)
        grid.focus()

    def action_leave(self) -> None:
        """To the list; there, mark what it says."""
        self.query_one(FleetSearch).close()
        if self._view.narrowed:
            self._look(NodeFilter())
        self.query_one(FleetList if self.opened.entries else NodeGrid).focus()

    @on(NodeGrid.Opened)
    def action_open_node(self) -> None:
        """Show the report of the node on which the cursor is."""
        name, paths = self.query_one(NodeGrid).name_at_cursor, self.opened.paths
        if name is not None:
            aside(self, lambda: self.Found(name, report(paths, name)))

    def on_fleet_screen_found(self, message: Found) -> None:
        """Show it, or say why there is none."""
        if isinstance(message.result, str):
            self.notify(message.result, title=message.node, severity="warning")
        elif self.is_current:
            self.app.push_screen(NodeReport(message.node, *message.result))

    def action_open(self) -> None:
        """Open another fleet."""
        self.doctor.ask_for("fleet")

    def action_save(self) -> None:
        """Say what writes this to a file."""
        where = shlex.join(self.opened.paths) or "DIR"
        self.notify(f"`gpudoctor fleet report {where}` writes it as text, JSON, HTML and more.", title="Save")

    # -- copying -------------------------------------------------------------------------------------------

    @on(FindingDetail.Copy)
    def action_copy(self) -> None:
        """Copy the chosen command."""
        command = self.query_one(FindingDetail).command
        copy(self.app, [command] if command else [], f"fleet {self.opened.title}")

    def action_copy_all(self) -> None:
        """Copy all commands of the fix to which the chosen one belongs."""
        detail = self.query_one(FindingDetail)
        chosen = detail.command
        fix = [one for one in detail.page.commands if chosen and one.fix == chosen.fix]
        copy(self.app, [one for one in fix if not one.verifies] or fix, f"fleet {self.opened.title}")

    def action_copy_nodes(self) -> None:
        """Copy the nodes of which the detail speaks, or those that are searched for, as a folded set."""
        text = self._folded()
        if not text:
            self.notify("There are no nodes to copy here.", severity="warning")
            return
        send(self.app, text, text)

    def _folded(self) -> str:
        nodes, entry = self.opened.nodes, self.query_one(FleetList).entry
        if nodes is None:
            return ""
        if self._view.narrowed:
            return nodes.folded(self._lit() or ())
        if self._of_node:
            return self.query_one(NodeGrid).name_at_cursor or ""
        if entry is None:
            return ""
        return entry.sets[0][0] if len(entry.sets) == 1 else nodes.folded(self._lit() or ())
