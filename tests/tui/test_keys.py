"""The dialog that lists the keys: all that work, each once, in a small terminal too."""

from typing import Any

import pytest
from textual.pilot import Pilot

from gpudoctor import demo
from gpudoctor.tui.app import Doctor
from gpudoctor.tui.keys import KeysScreen, groups
from gpudoctor.tui.screens import PLACES
from gpudoctor.tui.session import SessionSource
from tests.tui.screens import run, settled, text_of


def opened() -> Doctor:
    return Doctor(SessionSource(title="demo: mismatch", facts=demo.load("mismatch"), demo="mismatch"))


async def judged(pilot: Pilot[Any], key: str = "1") -> Doctor:
    app = pilot.app
    assert isinstance(app, Doctor)
    await settled(pilot, lambda: app.session.report is not None and not app.session.running)
    await pilot.press(key)
    await settled(pilot)
    return app


@pytest.mark.parametrize("place", PLACES, ids=[place.name for place in PLACES])
def test_each_key_of_a_place_and_of_the_application_is_listed_once(place: Any) -> None:
    async def go(pilot: Pilot[Any]) -> None:
        app = await judged(pilot, place.key)
        listed = groups(app.screen.active_bindings, app, place.title)
        assert place.title in [group.title for group in listed] or place.name in (
            "gpus",
            "smoke",
        )  # nothing is to be done
        assert listed[-1].title == "Everywhere"
        keys = [key for group in listed for entry in group.entries for key in entry.keys]
        assert sorted(keys) == sorted(set(keys))
        assert {"1", "2", "3", "4", "5", "r", "w", "t", "?", "q", "^p", "j", "k", "tab"} <= {*keys}
        shown = [key for key in ("c", "x", "/", "f", "o", "K") if key in app.screen.active_bindings]
        assert {*shown} <= {*keys}
        message = [entry.does for group in listed for entry in group.entries]
        assert not any(word in " ".join(message) for word in ("Page Left", "Scroll", "Focus Next"))

    run(opened, go)


def test_it_is_read_to_its_end_by_keys_in_a_small_terminal() -> None:
    async def go(pilot: Pilot[Any]) -> None:
        app = await judged(pilot)
        await pilot.press("question_mark")
        await settled(pilot, lambda: isinstance(app.screen, KeysScreen))
        assert "Copy the selected command" in "\n".join(text_of(app))
        assert "by name" not in "\n".join(text_of(app))
        await pilot.press(*["j"] * 40)
        await settled(pilot, lambda: any("by name" in row for row in text_of(app)))
        await pilot.press(*["up"] * 20, *["k"] * 20)
        await settled(pilot, lambda: any("Copy the selected command" in row for row in text_of(app)))

    run(opened, go, (60, 15))


@pytest.mark.parametrize("key", ["escape", "question_mark", "q"])
def test_it_is_closed_by_keys_and_the_application_goes_on(key: str) -> None:
    async def go(pilot: Pilot[Any]) -> None:
        app = await judged(pilot)
        await pilot.press("question_mark")
        await settled(pilot, lambda: isinstance(app.screen, KeysScreen))
        await pilot.press(key)
        await settled(pilot, lambda: not isinstance(app.screen, KeysScreen))
        assert app.is_running

    run(opened, go)
