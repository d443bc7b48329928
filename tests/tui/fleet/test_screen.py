"""The place Fleet, by its keys and by the mouse."""

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from gpudoctor.tui.app import Doctor
from gpudoctor.tui.fleet.bar import FleetSearch
from gpudoctor.tui.fleet.fleet_list import FleetList
from gpudoctor.tui.session import SessionSource
from tests.builders import nvidia_host
from tests.fleet.fleets import FLEETS, large
from tests.tui.fleet.kit import LARGE, SMALL, SUMMARY, There, at
from tests.tui.screens import SIZES, compare, run, settled, text_of

FIRST = {"node0005", "node0006", "node0007", "node0008", "node0501", "node0502", "node0503"}


@pytest.fixture(autouse=True)
def _kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Commands that are copied are kept here."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", ["large", "small", "healthy", "hostile"])
def test_how_it_looks(name: str, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(there: There) -> None:
        compare(there.app, f"fleet-{name}")

    at(monkeypatch, FLEETS[name], look, size)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_how_a_node_looks(size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(there: There) -> None:
        await there.press("n", "n")
        compare(there.app, "fleet-node")

    at(monkeypatch, LARGE, look, size)


def test_the_first_cause_is_selected_its_nodes_marked_and_its_fix_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(there: There) -> None:
        assert there.lit == FIRST
        assert "on: node[0005-0008,0501-0503]" in there.detail
        assert "7 marked" in there.text
        await there.press("down")
        assert there.lit == {"node0012", "node0013", "node0014"}
        await there.press("end")
        assert "New: The driver's libraries" in there.detail
        assert there.lit == FIRST

    at(monkeypatch, LARGE, look)


def test_keys_lead_through_the_grid_and_the_detail_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(there: There) -> None:
        await there.press("right")  # from the list to its first node
        assert there.app.focused is there.grid
        names = []
        for key in ("right", "left", "end", "up", "pageup", "home", "down", "down", "up", "pagedown"):
            await there.press(key)
            names.append(there.grid.name_at_cursor)
        across = there.grid._how.across
        page = (there.grid.scrollable_content_region.height - 1) * across
        wanted = [6, 5, 1000, 1000 - across, 1000 - across - page, 1, 1 + across, 1 + 2 * across, 1 + across]
        assert names == [f"node{number:04d}" for number in [*wanted, 1 + across + page]]
        assert f"node: {names[-1]}" in there.detail

    at(monkeypatch, LARGE, look)


def test_the_ends_of_the_grid_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(there: There) -> None:
        await there.press("tab", "home", "left", "up")
        assert there.grid.marks.cursor == 0
        await there.press("end", "right", "down")
        assert there.grid.marks.cursor == 39
        await there.press("up", "down")
        assert there.grid.marks.cursor == 39

    at(monkeypatch, SMALL, look, (80, 24))


def test_n_goes_through_the_marked_nodes_and_round(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(there: There) -> None:
        seen = []
        for key in ("n", "n", "N", "N", "n"):
            await there.press(key)
            seen.append(there.grid.name_at_cursor)
        assert seen == ["node0005", "node0006", "node0005", "node0503", "node0005"]
        assert there.app.focused is there.grid
        assert "The driver's libraries" in there.detail

    at(monkeypatch, LARGE, look)


def test_a_node_that_is_marked_is_brought_into_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(there: There) -> None:
        assert there.grid.scroll_y == 0
        for _ in range(4):  # causes, then the unreachable ones, which are the last
            await there.press("down")
        assert there.lit == {"node0998", "node0999"}
        assert "node0951" in there.text

    at(monkeypatch, LARGE, look)


def test_the_mouse_chooses_a_node_and_twice_opens_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(there: There) -> None:
        label = there.grid._how.label
        await there.pilot.click(there.grid, offset=(label + 4, 1))
        await settled(there.pilot)
        assert there.grid.marks.cursor == there.grid._how.across + 4
        assert there.app.focused is there.grid
        await there.pilot.click(there.grid, offset=(label + 4, 1), times=2)
        await there.until(lambda: "There is no report of" in there.text or "cannot be read" in there.text)

    at(monkeypatch, LARGE, look)


def test_the_mouse_in_the_list_selects(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(there: There) -> None:
        await there.pilot.click(there.list, offset=(4, 5))
        await settled(there.pilot)
        assert there.lit == {"node0012", "node0013", "node0014"}

    at(monkeypatch, LARGE, look)


# -- marking ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "lit"),
    [("099", {f"node099{n}" for n in range(10)} | {"node0099"}), ("node[0007-0008]", {"node0007", "node0008"})],
)
def test_nodes_are_searched_by_name_and_by_set(typed: str, lit: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(there: There) -> None:
        await there.press("slash")
        there.app.screen.query_one(FleetSearch).value = typed
        await settled(there.pilot)
        assert there.lit == lit
        await there.press("enter")
        assert there.app.focused is there.grid
        assert there.grid.name_at_cursor == min(lit)
        await there.press("y")
        assert there.app.clipboard == there.grid.nodes.folded(there.grid.marks.lit or ())  # type: ignore[union-attr]
        await there.press("escape")
        assert there.lit == FIRST
        assert isinstance(there.app.focused, FleetList)

    at(monkeypatch, LARGE, look)


def test_letters_in_the_search_are_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(there: There) -> None:
        await there.press("slash", *"nfscor")
        assert there.app.screen.query_one(FleetSearch).value == "nfscor"
        assert there.lit == set()
        assert "0 marked" in there.text

    at(monkeypatch, LARGE, look)


def test_f_marks_one_state_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(there: There) -> None:
        counted = []
        for _ in range(8):
            await there.press("f")
            counted.append(len(there.lit))
        assert counted == [*LARGE.counts.values(), len(FIRST)]
        await there.press("f", "down")  # another line of the list is about its own nodes
        assert there.lit == {"node0012", "node0013", "node0014"}

    at(monkeypatch, LARGE, look)


@pytest.mark.parametrize(("words", "action"), [("search", "search"), ("state", "state"), ("marked", "next")])
def test_the_line_above_the_grid_can_be_clicked(words: str, action: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(there: There) -> None:
        row = next(number for number, row in enumerate(text_of(there.app)) if "/ search" in row)
        column = text_of(there.app)[row].index(words)
        await there.pilot.click(offset=(column + 1, row))
        await settled(there.pilot)
        done = {
            "search": there.app.screen.query_one(FleetSearch).has_focus,
            "state": len(there.lit) == LARGE.counts["fail"],
            "next": there.grid.name_at_cursor == "node0005",
        }
        assert done[action]

    at(monkeypatch, LARGE, look)


# -- the application around it ---------------------------------------------------------------------------


def test_the_machine_is_examined_when_somebody_goes_there(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(there: There) -> None:
        assert not there.app.session.running
        assert there.app.session.report is None
        await there.press("1")
        await there.until(lambda: there.app.session.running or there.app.session.report is not None)
        assert text_of(there.app)[0].endswith("this machine")
        assert " 6 Fleet " in text_of(there.app)[0]
        await there.press("6")
        await there.until(lambda: "1,000 nodes" in there.text)
        assert text_of(there.app)[0].endswith("run-7")

    at(monkeypatch, LARGE, look)


def test_without_a_fleet_it_says_how_to_come_by_one_and_opens_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(SUMMARY, lambda *_: SMALL)

    async def look(pilot: Pilot[Any]) -> None:
        app = pilot.app
        assert isinstance(app, Doctor)
        await settled(pilot, lambda: app.session.report is not None)
        assert "6 Fleet" not in text_of(app)[0]
        await pilot.press("6")
        await settled(pilot, lambda: "gpudoctor fleet run" in "\n".join(text_of(app)))
        await pilot.press("o")
        await settled(pilot, lambda: app.screen.query("OpenScreen #path"))
        await pilot.press(*"/proc/none", "enter")
        await settled(pilot, lambda: "No such file or directory: /proc/none." in "\n".join(text_of(app)))
        app.screen.query_one("#path").value = str(tmp_path)  # type: ignore[attr-defined]
        await pilot.press("enter")
        await settled(pilot, lambda: app.fleet.fleet == SMALL)
        await settled(pilot, lambda: "40 nodes" in text_of(app)[1])
        assert "6 Fleet" in text_of(app)[0]

    run(lambda: Doctor(SessionSource(title="x", facts=nvidia_host())), look)


def test_save_says_what_writes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(there: There) -> None:
        await there.press("w")
        assert "`gpudoctor fleet report 'run 7'`" in there.text

    at(monkeypatch, LARGE, look, paths=["run 7"])


def test_every_key_is_in_the_help(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(there: There) -> None:
        await there.press("tab", "question_mark")
        reported = (
            "Select nodes by name or",
            "Select nodes by state",
            "Copy the nodes as a node set",
            "Next selected node",
            "Open the report of the selected node",
            "Reload the reports",
            "First node",
            "Open the reports of another fleet",
            "6  Fleet",
        )
        assert [words for words in reported if words not in there.text] == []

    at(monkeypatch, LARGE, look, (120, 60))


@pytest.mark.parametrize("size", [(40, 10), (20, 5), (300, 80)])
def test_any_size_is_drawn(size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(there: There) -> None:
        await there.press("tab", "tab", "f", "n")
        rows = text_of(there.app)
        assert len(rows) == size[1]
        assert max(map(len, rows)) <= size[0]

    at(monkeypatch, FLEETS["hostile"] if size[0] == 40 else LARGE, look, size)


def test_it_is_laid_out_anew_when_the_terminal_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(there: There) -> None:
        await there.press("tab", "end")
        for size in ((80, 24), (200, 60), (120, 40)):
            await there.pilot.resize_terminal(*size)
            await settled(there.pilot)
            assert there.grid.name_at_cursor == "node1000"
            assert there.grid._how.rows <= there.grid.scroll_y + there.grid.size.height

    at(monkeypatch, LARGE, look)


def test_only_lines_in_sight_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []

    def counted(nodes: Any, how: Any, row: int, marks: Any) -> list[tuple[str, str]]:
        drawn.append(row)
        return []

    async def look(there: There) -> None:
        monkeypatch.setattr("gpudoctor.tui.fleet.grid.line", counted)
        await there.press("tab", "end")
        assert drawn
        assert len(set(drawn)) <= 2 * there.grid.size.height
        assert there.grid._how.rows > 100

    at(monkeypatch, large(10_000), look)
