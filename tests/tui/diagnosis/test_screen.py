"""The place "diagnosis" as somebody uses it, by keys and by mouse, on recorded machines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot

from gpudoctor.facts import Facts
from gpudoctor.report.model import FixEntry
from gpudoctor.tui.app import Doctor
from gpudoctor.tui.diagnosis.detail import FindingDetail
from gpudoctor.tui.diagnosis.finding_list import FindingList
from gpudoctor.tui.footer import Footer
from gpudoctor.tui.session import Session
from tests.tui.diagnosis.machines import MISMATCH, NARROW, REPORT, doctor, healthy, mismatch
from tests.tui.screens import SIZES, compare, run, settled, text_of

Use = Callable[[Pilot[Any]], Awaitable[None]]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Commands are kept in a folder of the test's."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "gpudoctor" / "commands.sh"


def session(pilot: Pilot[Any]) -> Session:
    found: Session = pilot.app.session  # type: ignore[attr-defined]
    return found


def use(what: Use, facts: Facts | None = None, size: tuple[int, int] = (120, 40)) -> Doctor:
    """Wait for the report, then do something."""

    async def whole(pilot: Pilot[Any]) -> None:
        await settled(pilot, lambda: session(pilot).report is not None and not session(pilot).running)
        await what(pilot)

    app = run(lambda: doctor(facts), whole, size)
    assert isinstance(app, Doctor)
    return app


async def show(pilot: Pilot[Any], report: Any = REPORT) -> None:
    """Put a report on the screen."""
    session(pilot).report = report
    session(pilot).verdicts = ()
    pilot.app.changed.publish(session(pilot))  # type: ignore[attr-defined]
    await settled(pilot)


def screen(pilot: Pilot[Any]) -> str:
    return "\n".join(text_of(pilot.app))


def selected(pilot: Pilot[Any]) -> str:
    item = pilot.app.screen.query_one(FindingList).item
    return item.check if item else ""


def reported(pilot: Pilot[Any]) -> list[str]:
    return [notice.message for notice in pilot.app._notifications]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["mismatch", "healthy"])
def test_the_screen_looks_as_it_did(name: str, size: tuple[int, int]) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        compare(pilot.app, f"diagnosis-{name}")

    use(look, {"mismatch": mismatch, "healthy": healthy}[name](), size)


@pytest.mark.parametrize("size", [(80, 24), (200, 60), (40, 12)])
def test_cause_and_first_command_are_in_sight_at_once(size: tuple[int, int]) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await pilot.press("enter")
        await settled(pilot)
        assert "FAIL" in screen(pilot)
        await pilot.press("c")
        assert pilot.app.clipboard == "sudo reboot"

    use(look, size=size)


def test_consequences_unfold_beneath_their_cause() -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await show(pilot)
        assert "▸ 3 consequences" in screen(pilot)
        await pilot.press("space", "down")
        await settled(pilot)
        assert "▾ 3 consequences" in screen(pilot)
        assert selected(pilot) == "pytorch.no-gpu"
        assert "This is a consequence of" in screen(pilot)
        await pilot.press("left")  # folds all of them, and selects their cause
        await settled(pilot)
        assert selected(pilot) == "driver.library-mismatch"
        assert "└─" not in screen(pilot)

    use(look)


def test_a_click_on_the_sign_unfolds() -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await show(pilot)
        row = next(y for y, line in enumerate(text_of(pilot.app)) if "▸ 3 consequences" in line)
        await pilot.click(offset=(text_of(pilot.app)[row].index("▸"), row))
        await settled(pilot)
        assert "└─" in screen(pilot)

    use(look)


def test_p_shows_what_found_nothing_and_hides_it_again() -> None:
    async def look(pilot: Pilot[Any]) -> None:
        assert "Passed checks" not in screen(pilot)
        await pilot.press("p")
        await settled(pilot)
        assert "Passed checks" in screen(pilot)
        item = pilot.app.screen.query_one(FindingList).item
        assert item is not None
        assert item.finding is not None  # who reads goes on
        await pilot.press("p")
        await settled(pilot)
        assert "Passed checks" not in screen(pilot)
        assert selected(pilot) == "driver.library-mismatch"

    use(look)


def test_search_narrows_while_one_writes_and_escape_ends_it() -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await show(pilot)
        await pilot.press("slash", *"lanes")
        await settled(pilot)
        assert selected(pilot) == "link.narrow-pcie"
        assert "library-mismatch" not in screen(pilot)
        await pilot.press("enter")
        assert isinstance(pilot.app.focused, FindingList)
        await pilot.press("slash", *"qqq")  # letters of the search, and no keys of the application
        await settled(pilot)
        assert "No matches." in screen(pilot)
        await pilot.press("escape")
        await settled(pilot)
        assert "FAIL" in screen(pilot)
        assert "WARN" in screen(pilot)

    use(look)


def test_f_and_shift_f_filter_by_status_and_area() -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await show(pilot)
        await pilot.press("f", "f")
        await settled(pilot)
        assert selected(pilot) == "link.narrow-pcie"
        assert "f status WARN" in screen(pilot)
        await pilot.press("f", "F")
        await settled(pilot)
        assert "F area driver" in screen(pilot)
        assert selected(pilot) == "driver.library-mismatch"
        await pilot.press("escape")
        await settled(pilot)
        assert "esc all" not in screen(pilot)

    use(look)


@pytest.mark.parametrize(("word", "then"), [("status", "f status FAIL"), ("area", "F area driver")])
def test_a_click_on_a_filter_does_what_its_key_does(word: str, then: str) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await pilot.click("#filters", offset=(text_of(pilot.app)[2].index(word), 0))
        await settled(pilot)
        assert then in screen(pilot)

    use(look)


def test_commands_are_copied_to_the_clipboard_and_to_a_file(state: Path) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await show(pilot)
        await pilot.press("enter", "down", "down", "c")
        assert pilot.app.clipboard == "sudo rmmod nvidia"
        await pilot.press("C")
        assert pilot.app.clipboard == "sudo rmmod nvidia\nsudo modprobe nvidia"
        (notice,) = pilot.app._notifications  # one at a time
        assert notice.title == "Sent to the terminal's clipboard"
        assert notice.message.startswith("2 commands\nAlso in ")
        assert notice.message.endswith("commands.sh")
        await pilot.press("up", "up", "enter")
        assert pilot.app.clipboard == "sudo reboot"

    use(look)
    lines = [line for line in state.read_text().splitlines() if line and not line.startswith("#")]
    assert lines == ["sudo rmmod nvidia", "sudo rmmod nvidia", "sudo modprobe nvidia", "sudo reboot"]
    assert "# driver.library-mismatch (host.json, " in state.read_text()


@pytest.mark.parametrize("size", [(100, 50), (120, 40)], ids=str)
def test_a_click_on_a_command_copies_it(size: tuple[int, int]) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        row = next(y for y, line in enumerate(text_of(pilot.app)) if "sudo modprobe nvidia" in line)
        await pilot.click(offset=(text_of(pilot.app)[row].index("sudo"), row))
        await settled(pilot)
        assert pilot.app.clipboard == "sudo modprobe nvidia"

    use(look, size=size)


def test_the_clipboard_is_used_where_the_file_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/nowhere")

    async def look(pilot: Pilot[Any]) -> None:
        await pilot.press("c")
        assert pilot.app.clipboard == "sudo reboot"
        assert "Not in /dev/null/nowhere/gpudoctor/commands.sh: " in reported(pilot)[-1]

    use(look)


def test_without_a_command_nothing_is_copied() -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await show(pilot)
        await pilot.press("down", "c", "C")
        assert pilot.app.clipboard == ""
        assert reported(pilot)[-1] == "There is no command to copy here."

    use(look)


def test_strings_from_facts_are_never_markup() -> None:
    evil = "[bold red]x[/] [@click=app.quit]y[/] \x1b[31mz\u202e ["
    fix = FixEntry(evil, (evil,), verify=evil)
    entry = msgspec.structs.replace(MISMATCH, title=evil, message=evil, subject=evil, evidence=(evil,), fixes=(fix,))

    async def look(pilot: Pilot[Any]) -> None:
        await show(pilot, msgspec.structs.replace(REPORT, findings=(entry,)))
        whole = screen(pilot)
        assert "\x1b" not in whole
        assert "\u202e" not in whole
        assert whole.count("[bold red]x[/]") >= 5
        await pilot.press("c")
        await settled(pilot)
        assert "[@click=app.quit]" in pilot.app.clipboard
        assert "\x1b" not in pilot.app.clipboard

    use(look)


def test_on_recorded_facts_nothing_runs_and_the_palette_says_why() -> None:
    async def look(pilot: Pilot[Any]) -> None:
        assert "  recorded " in screen(pilot)
        assert not {"r", "x", "R", "U"} & {key.key for key, _ in pilot.app.screen.query_one(Footer).pieces()}
        await pilot.press("r", "x", "R", "U")
        await settled(pilot)
        assert not session(pilot).running
        await pilot.press("ctrl+p", *"run fix")
        await settled(pilot, lambda: "Only on a live machine: these are recorded facts" in screen(pilot))
        await pilot.press("enter")
        await settled(pilot, lambda: len(pilot.app.screen_stack) == 1)
        await settled(pilot, lambda: "Only on a live machine" in reported(pilot)[-1])

    use(look)


def test_nothing_found_offers_the_smoke_tests() -> None:
    async def look(pilot: Pilot[Any]) -> None:
        assert "No problems found" in screen(pilot)
        row = next(y for y, line in enumerate(text_of(pilot.app)) if "runs the smoke tests" in line)
        await pilot.click(offset=(text_of(pilot.app)[row].index("runs"), row))
        await settled(pilot)
        assert pilot.app.current_mode == "smoke"

    use(look, healthy())


def test_until_somebody_touches_it_the_root_cause_stays_selected() -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await show(pilot, msgspec.structs.replace(REPORT, findings=(NARROW,)))
        assert selected(pilot) == "link.narrow-pcie"
        await show(pilot)
        assert selected(pilot) == "driver.library-mismatch"

    use(look)


def test_what_somebody_reads_stays_selected_while_results_stream_in() -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await show(pilot, msgspec.structs.replace(REPORT, findings=(NARROW,)))
        await pilot.press("down")
        await pilot.press("enter")
        await show(pilot)
        assert selected(pilot) == "link.narrow-pcie"
        assert isinstance(pilot.app.focused, FindingDetail)
        later = MISMATCH.consequences[0]
        known = msgspec.structs.replace(MISMATCH, check=later.check, subject=later.subject, consequences=())
        await show(pilot, msgspec.structs.replace(REPORT, findings=(known,)))
        await pilot.press("escape", "down")
        await show(pilot)  # now it turns out to follow from the driver
        assert selected(pilot) == "driver.library-mismatch"

    use(look)


def test_a_report_that_changes_nothing_leaves_the_reader_where_they_are() -> None:
    async def look(pilot: Pilot[Any]) -> None:
        detail = pilot.app.screen.query_one(FindingDetail)
        await pilot.press("enter", *["down"] * 8)
        await settled(pilot)
        before = (detail.scroll_y, detail.chosen)
        assert detail.chosen > 0
        report = session(pilot).report
        assert report is not None
        await show(pilot, msgspec.structs.replace(report, seconds=9.0))
        assert (detail.scroll_y, detail.chosen) == before

    use(look, size=(80, 24))


def test_a_resize_breaks_the_lines_anew_and_keeps_the_selection() -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await show(pilot)
        await pilot.press("down")
        for size in ((80, 24), (200, 60), (60, 20), (120, 40)):
            await pilot.resize_terminal(*size)
            await settled(pilot)
            assert selected(pilot) == "link.narrow-pcie"
            assert max(len(line) for line in text_of(pilot.app)) <= size[0]
            assert "4 of 16 lanes." in screen(pilot)

    use(look)


def test_on_a_narrow_screen_who_reads_gets_the_room() -> None:
    async def look(pilot: Pilot[Any]) -> None:
        found, detail = pilot.app.screen.query_one(FindingList), pilot.app.screen.query_one(FindingDetail)
        await show(pilot)
        await pilot.press("space", "p")
        await settled(pilot)
        before = detail.size.height
        await pilot.press("enter")
        await settled(pilot)
        assert detail.size.height > before
        assert found.size.height >= 2
        await pilot.press("escape")
        await settled(pilot)
        assert detail.size.height == before
        assert isinstance(pilot.app.focused, FindingList)

    use(look, size=(80, 24))


def test_on_a_narrow_screen_the_list_takes_what_it_needs_and_at_most_half() -> None:
    async def look(pilot: Pilot[Any]) -> None:
        found, detail = pilot.app.screen.query_one(FindingList), pilot.app.screen.query_one(FindingDetail)
        assert found.size.height == 2  # one finding, and how much follows from it
        await pilot.press("p")  # now there are many rows
        await settled(pilot)
        assert found.size.height < found.virtual_size.height
        assert 4 < found.size.height <= detail.size.height
        await pilot.press("p")
        await show(pilot)
        assert found.size.height == found.virtual_size.height == 4  # two findings

    use(look, size=(80, 24))


def test_the_way_back_is_offered_where_one_has_gone_somewhere() -> None:
    async def look(pilot: Pilot[Any]) -> None:
        def offered() -> bool:
            return " esc Back" in text_of(pilot.app)[-1]

        await show(pilot)
        assert not offered()
        for there, back in ((("enter",), ("escape",)), (("slash", "n"), ("escape",)), (("f",), ("escape",))):
            await pilot.press(*there)
            await settled(pilot)
            assert offered()
            await pilot.press(*back)
            await settled(pilot)
            assert not offered()

    use(look, size=(80, 24))
