"""The dialog that lists the keys: all that work, each once, in a small terminal too."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from textual.binding import BindingsMap
from textual.pilot import Pilot
from textual.screen import ModalScreen, Screen
from textual.widget import Widget

from gpudoctor import demo
from gpudoctor.tui.app import Doctor
from gpudoctor.tui.keys import KeysScreen, groups
from gpudoctor.tui.screens import ALL, PLACES
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
        assert {"1", "2", "3", "4", "5", "w", "t", "?", "h", "q", "^p", "j", "k", "g", "G", "tab"} <= {*keys}
        assert not {"r", "x", "R", "U"} & {*keys}  # it is a recorded machine
        shown = [key for key in ("c", "/", "f", "o", "K") if key in app.screen.active_bindings]
        assert {*shown} <= {*keys}
        message = [entry.does for group in listed for entry in group.entries]
        assert not any(word in " ".join(message) for word in ("Page Left", "Scroll", "Focus Next"))

    run(opened, go)


def test_it_is_read_to_its_end_by_keys_in_a_small_terminal() -> None:
    async def go(pilot: Pilot[Any]) -> None:
        app = await judged(pilot)
        await pilot.press("f1")
        await settled(pilot, lambda: isinstance(app.screen, KeysScreen))
        first, last = "Copy all commands of the fix", "First and last"
        assert first in "\n".join(text_of(app))
        assert last not in "\n".join(text_of(app))
        for down, up in ((["j"] * 40, [*["up"] * 20, *["k"] * 20]), (["G"], ["g"])):
            await pilot.press(*down)
            await settled(pilot, lambda: any(last in row for row in text_of(app)))
            await pilot.press(*up)
            await settled(pilot, lambda: any(first in row for row in text_of(app)))

    run(opened, go, (60, 15))


# What the key does on the screens where it does something, as the names of their actions.
MEANINGS = {
    "a": {"all"},
    "b": {"glyphs"},
    "c": {"copy"},
    "C": {"copy_all"},
    "d": {"explain"},
    "f": {"status", "state"},
    "F": {"area"},
    "K": {"keep"},
    "m": {"matters"},
    "n": {"next"},
    "N": {"next"},
    "o": {"choose", "open"},
    "p": {"others"},
    "r": {"again"},
    "R": {"run_fix"},
    "s": {"start", "halt"},
    "u": {"unknown", "others"},
    "U": {"undo_fix"},
    "v": {"switch", "turn"},
    "w": {"save"},
    "x": {"again_one"},
    "y": {"copy_nodes"},
    "slash": {"search"},
    "left_square_bracket": {"step", "next"},
    "right_square_bracket": {"step", "next"},
    "plus": {"zoom", "step"},
    "minus": {"zoom", "step"},
    "h": {"help"},
    "g": {"move"},
    "G": {"move"},
    "j": {"move"},
    "k": {"move"},
    "q": {"quit"},
    "t": {"theme"},
    "question_mark": {"help"},
}


def test_a_key_has_one_meaning_on_all_screens() -> None:
    for screen in ALL:
        import_module(f"gpudoctor.tui.{screen.name}.screen")
    import_module("gpudoctor.tui.fleet.node_report")
    found: dict[str, set[str]] = {}
    classes: list[Any] = [Doctor, *_below(Screen), *_below(Widget)]
    for made in classes:
        if made.__module__.startswith("gpudoctor") and not issubclass(made, ModalScreen):
            for key, binding in made._merge_bindings() if made is Doctor else BindingsMap(made.BINDINGS):
                found.setdefault(key, set()).add(binding.action.partition("(")[0])
    letters = {key: names for key, names in found.items() if key in MEANINGS or (len(key) == 1 and key.isalpha())}
    assert letters == MEANINGS


def _below(cls: type[Any]) -> Iterator[type[Any]]:
    for one in cls.__subclasses__():
        yield one
        yield from _below(one)


@pytest.mark.parametrize("key", ["escape", "question_mark", "h", "q"])
def test_it_is_closed_by_keys_and_the_application_goes_on(key: str) -> None:
    async def go(pilot: Pilot[Any]) -> None:
        app = await judged(pilot)
        await pilot.press("question_mark")
        await settled(pilot, lambda: isinstance(app.screen, KeysScreen))
        await pilot.press(key)
        await settled(pilot, lambda: not isinstance(app.screen, KeysScreen))
        assert app.is_running

    run(opened, go)
