"""The application as a whole: its keys, palette, help, themes, sizes, and how it is left, from every place."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from gpudoctor import demo
from gpudoctor.tui.app import Doctor
from gpudoctor.tui.commands import Commands
from gpudoctor.tui.screens import PLACES
from gpudoctor.tui.session import SessionSource
from tests.builders import nvidia_host
from tests.tui.screens import SIZES, compare, run, settled, text_of

KEYS = [place.key for place in PLACES]
SMALL = ((80, 24), (40, 10), (20, 5))


@pytest.fixture(autouse=True)
def _coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal of somebody who has set nothing."""
    monkeypatch.delenv("NO_COLOR", raising=False)


def opened(name: str = "mismatch", colour: bool = True) -> Doctor:
    """The application on a demo."""
    return Doctor(SessionSource(title=f"demo: {name}", facts=demo.load(name), demo=name), colour)


async def judged(pilot: Pilot[Any]) -> Doctor:
    """Wait for the report."""
    app = pilot.app
    assert isinstance(app, Doctor)
    await settled(pilot, lambda: app.session.report is not None and not app.session.running)
    return app


# -- places ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", PLACES, ids=[place.name for place in PLACES])
def test_a_key_leads_to_each_place_and_the_first_row_says_where_one_is(place: Any) -> None:
    async def go(pilot: Pilot[Any]) -> None:
        app = await judged(pilot)
        await pilot.press(place.key)
        await settled(pilot, lambda: app.current_mode == place.name)
        first = text_of(app)[0]
        assert f" {place.key} {place.title} " in first
        assert first.endswith("demo: mismatch")

    run(opened, go)


def test_a_click_on_the_first_row_leads_there_too() -> None:
    async def go(pilot: Pilot[Any]) -> None:
        app = await judged(pilot)
        for place in reversed(PLACES):
            await pilot.click("Header", offset=(text_of(app)[0].index(place.title), 0))
            await settled(pilot, lambda name=place.name: app.current_mode == name)  # type: ignore[misc]
        await pilot.click("Header", offset=(78, 0))  # the title of what is examined leads nowhere
        await settled(pilot)
        assert app.current_mode == PLACES[0].name

    run(opened, go)


@pytest.mark.parametrize("name", demo.DEMOS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_first_screen_of_each_demo(name: str, size: tuple[int, int]) -> None:
    async def go(pilot: Pilot[Any]) -> None:
        compare(await judged(pilot), f"app-{name}")

    run(lambda: opened(name), go, size)


@pytest.mark.parametrize("place", [place for place in PLACES if place.name != "compare"], ids=lambda place: place.name)
def test_the_letters_of_vi_move_as_the_arrows_do(place: Any) -> None:
    async def go(pilot: Pilot[Any]) -> None:
        app = await judged(pilot)
        await pilot.press(place.key)
        await settled(pilot)
        if place.name == "diagnosis":
            await pilot.press("space")

        def here() -> tuple[Any, ...]:
            at = app.focused
            return at, getattr(at, "highlighted", None), getattr(at, "cursor_line", None), at and at.scroll_target_y

        seen = []
        for down, up in (("down", "up"), ("j", "k")):
            stages = [here()]
            for key in (down, up):
                await pilot.press(key)
                await settled(pilot)
                stages.append(here())
            seen.append(stages)
        assert seen[0] == seen[1]
        assert seen[0][0] != seen[0][1] or place.name == "smoke"

    run(lambda: opened("bad-link" if place.name == "gpus" else "mismatch"), go)


@pytest.mark.parametrize("name", demo.DEMOS)
def test_every_place_of_each_demo_is_drawn_in_every_size(name: str) -> None:
    async def go(pilot: Pilot[Any]) -> None:
        app = await judged(pilot)
        for size in (*SIZES, *SMALL):
            await pilot.resize_terminal(*size)
            for key in KEYS:
                await pilot.press(key)
                await settled(pilot)
                rows = text_of(app)
                assert len(rows) == size[1]
                assert max(map(len, rows)) <= size[0]
                assert f" {key} " in rows[0].ljust(size[0]) or size[0] < 28

    run(lambda: opened(name), go)


# -- keys that work everywhere ---------------------------------------------------------------------------


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("leave", ["q", "ctrl+c", "ctrl+q"])
def test_it_is_left_from_every_place(key: str, leave: str) -> None:
    async def go(pilot: Pilot[Any]) -> None:
        await judged(pilot)
        await pilot.press(key, leave)

    app = run(opened, go)
    assert (app.return_value, app.return_code) == (0, 0)


@pytest.mark.parametrize("opening", ["ctrl+p", "slash"])
def test_ctrl_c_leaves_dialogs_and_inputs_too(opening: str) -> None:
    async def go(pilot: Pilot[Any]) -> None:
        await judged(pilot)
        await pilot.press(opening)
        await settled(pilot, lambda: isinstance(pilot.app.focused, Input))
        await pilot.press("ctrl+c")

    assert run(opened, go).return_value == 0


def test_ctrl_c_copies_what_is_selected_in_an_input() -> None:
    async def go(pilot: Pilot[Any]) -> None:
        app = await judged(pilot)
        await pilot.press("slash", *"driver", "ctrl+a")
        field = app.focused
        assert isinstance(field, Input)
        field.select_all()
        await pilot.press("ctrl+c")
        await settled(pilot)
        assert app.clipboard == "driver"
        assert app.is_running

    run(opened, go)


def test_the_theme_is_light_dark_and_light_again() -> None:
    async def go(pilot: Pilot[Any]) -> None:
        app = await judged(pilot)
        seen = [app.current_theme.dark]
        for _ in range(2):
            await pilot.press("t")
            await settled(pilot)
            seen.append(app.current_theme.dark)
        assert seen == [True, False, True]

    run(opened, go)


def test_without_colour_there_is_none_and_the_words_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[list[str]] = []

    async def go(pilot: Pilot[Any]) -> None:
        app = await judged(pilot)
        for key in KEYS:
            await pilot.press(key)
            await settled(pilot)
            if key != "2":  # its charts move
                rows.append(text_of(app))
            if not app.colour:
                assert _coloured_cells(app) == []

    run(opened, go, (120, 40))
    monkeypatch.setenv("NO_COLOR", "1")
    run(lambda: opened(colour=False), go, (120, 40))
    assert rows[: len(rows) // 2] == rows[len(rows) // 2 :]


def test_an_empty_no_color_asks_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def go(pilot: Pilot[Any]) -> None:
        app = await judged(pilot)
        assert not app.no_color
        segments = [segment for strip in app.screen._compositor.render_strips() for segment in strip]
        assert len({segment.style.color for segment in segments if segment.style}) > 5

    monkeypatch.setenv("NO_COLOR", "")
    run(opened, go)
    monkeypatch.setenv("NO_COLOR", "1")
    assert opened(colour=False).no_color


def _coloured_cells(app: Doctor) -> list[str]:
    """Texts in another colour than the terminal's own."""
    segments = [segment for strip in app.screen._compositor.render_strips() for segment in strip]
    colours = [(s.text, colour) for s in segments if s.style for colour in (s.style.color, s.style.bgcolor)]
    return [text for text, colour in colours if colour is not None and not colour.is_default]


@pytest.mark.parametrize("key", KEYS)
def test_recorded_facts_are_not_examined_again_and_a_toast_and_the_palette_say_why(key: str) -> None:
    async def go(pilot: Pilot[Any]) -> None:
        app = await judged(pilot)
        await pilot.press(key)
        await settled(pilot)
        report = app.session.report
        await pilot.press("escape", "r")
        await settled(pilot)
        why = "Only on a live machine: these are recorded facts (demo: mismatch)."
        assert [one.message for one in app._notifications] == [why]
        (entry,) = [entry for entry in Commands(app.screen).entries() if entry.name.startswith("Re-run all")]
        assert entry.message == why
        assert app.session.report is report

    run(opened, go)


# -- the command palette ---------------------------------------------------------------------------------


def _offered(app: Doctor) -> list[str]:
    from gpudoctor.tui.commands import Commands

    return [entry.name for entry in Commands(app.screen).entries()]


def test_the_palette_offers_places_keys_and_other_machines() -> None:
    async def go(pilot: Pilot[Any]) -> None:
        app = await judged(pilot)
        names = _offered(app)
        assert {f"Go to {place.title}" for place in PLACES} <= {*names}
        named = {name.partition(" (")[0] for name in names}
        assert {
            "Run fix",
            "Re-run all",
            "Save",
            "Copy",
            "Keys",
            "Theme",
            "Search",
            "Open a facts file",
            "Quit",
        } <= named
        assert len(names) == len({*names})
        assert {f"Open the demo {name}" for name in demo.DEMOS} <= {*names}

    run(opened, go)


@pytest.mark.parametrize(
    ("typed", "mode"),
    [("smoke", "smoke"), ("python", "environment"), ("earlier", "compare"), ("temperature", "gpus"), ("stop", "smoke")],
)
def test_the_palette_finds_a_place_by_its_name_or_by_what_it_shows(typed: str, mode: str) -> None:
    async def go(pilot: Pilot[Any]) -> None:
        app = await judged(pilot)
        await pilot.press("ctrl+p", *typed)
        await settled(pilot, lambda: any("Go to" in row for row in text_of(app)[3:12]))
        await pilot.pause(0.3)
        await pilot.press("enter")
        await settled(pilot, lambda: app.current_mode == mode)

    run(opened, go)


WORDS = {
    "fix": "Run fix", "run fix": "Run fix", "apply": "Run fix", "save html": "Save", "export": "Save",
    "filter": "Search", "find": "Search", "theme": "Theme", "dark": "Theme", "help": "Keys", "quit": "Quit",
    "exit": "Quit", "refresh": "Re-run all", "rescan": "Re-run all", "copy": "Copy", "undo": "Undo fix",
    "verify": "Re-check this",
    "start": "Go to Smoke tests", "stop": "Go to Smoke tests", "nvidia-smi": "Go to GPUs",
}  # fmt: skip


def test_the_palette_finds_an_action_by_the_words_people_use() -> None:
    async def go(pilot: Pilot[Any]) -> None:
        app = await judged(pilot)
        provider = Commands(app.screen)
        for typed, name in WORDS.items():
            hits = [hit async for hit in provider.search(typed)]
            best = max(hits, key=lambda hit: hit.score)  # of equals the first, as the palette shows them
            assert (best.text or "").partition(" (")[0] == name, typed

    run(opened, go)


def test_the_palette_with_nothing_typed() -> None:
    async def go(pilot: Pilot[Any]) -> None:
        app = await judged(pilot)
        await pilot.press("ctrl+p")
        await settled(pilot, lambda: any("Run fix" in row for row in text_of(app)))
        await pilot.pause(0.3)
        compare(app, "app-palette")

    run(opened, go, (80, 24))


# -- other machines --------------------------------------------------------------------------------------


def test_another_demo_is_opened_and_the_first_machine_is_there_again() -> None:
    async def go(pilot: Pilot[Any]) -> None:
        app = await judged(pilot)
        await pilot.press("3")
        await settled(pilot)
        await app.open(SessionSource(title="demo: cpu-wheel", facts=demo.load("cpu-wheel"), demo="cpu-wheel"))
        await judged(pilot)
        assert text_of(app)[0].endswith("demo: cpu-wheel")
        assert "CPU-only" in "\n".join(text_of(app))
        for key in KEYS:
            await pilot.press(key)
            await settled(pilot)
            assert "mismatch" not in text_of(app)[0]
        assert "Back to demo: mismatch" in _offered(app)
        await app.open(app.first)
        await judged(pilot)
        assert text_of(app)[0].endswith("demo: mismatch")
        assert "Back to demo: mismatch" not in _offered(app)

    run(opened, go)


def test_a_facts_file_is_asked_for_and_opened(tmp_path: Path) -> None:
    path = tmp_path / "[red]host.json"
    path.write_bytes(msgspec.json.encode(nvidia_host()))

    async def go(pilot: Pilot[Any]) -> None:
        app = await judged(pilot)
        await pilot.press("ctrl+p", *"open a facts")
        await settled(pilot, lambda: any("Open a facts file" in row for row in text_of(app)))
        await pilot.pause(0.3)
        await pilot.press("enter")
        await settled(pilot, lambda: app.screen.query("OpenScreen #path"))
        field = app.screen.query_one("#path", Input)
        for text, why in (
            ("", "Enter a file name."),
            ("/proc/none", "No such file: /proc/none."),
            ("/dev/null", "Not a regular file: /dev/null."),
        ):
            field.value = text
            await pilot.press("enter")
            await settled(pilot, lambda why=why: any(why in row for row in text_of(app)))  # type: ignore[misc]
        (tmp_path / "bad").write_text("{}")
        field.value = str(tmp_path / "bad")
        await pilot.press("enter")
        await settled(pilot, lambda: any("this version reads" in row for row in text_of(app)))
        field.value = str(path)
        await pilot.press("enter")
        await settled(pilot, lambda: app.session.source.title == "[red]host.json")
        await judged(pilot)
        assert text_of(app)[0].endswith("[red]host.json")

    run(opened, go, (120, 40))


def test_who_thinks_better_of_it_stays() -> None:
    async def go(pilot: Pilot[Any]) -> None:
        app = await judged(pilot)
        await pilot.press("ctrl+p", *"open a facts")
        await pilot.pause(0.5)
        await pilot.press("enter")
        await settled(pilot, lambda: app.screen.query("OpenScreen #path"))
        await pilot.press("escape")
        await settled(pilot, lambda: len(app.screen_stack) == 1)
        assert app.session.source is app.first

    run(opened, go)


# -- the run of all checks----------------------------------------------------------------------------------
