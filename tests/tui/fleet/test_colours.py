"""The colours of the fleet's place: text that can be read in each theme, and marks that are seen without colours."""

from typing import Any

import pytest

from gpudoctor.tui.themes import DARK, LIGHT
from tests.fleet.fleets import FLEETS
from tests.tui.fleet.kit import LARGE, There, at
from tests.tui.screens import settled, text_of
from tests.tui.test_themes import LEAST, _contrast, _texts

WAYS: tuple[tuple[str, ...], ...] = ((), ("down",), ("tab", "end"), ("enter",), ("f",), ("slash", "9"))


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=["dark", "light"])
@pytest.mark.parametrize("keys", WAYS, ids=" ".join)
def test_all_text_can_be_read(keys: tuple[str, ...], theme: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(there: There) -> None:
        there.app.theme = theme.name
        await there.press(*keys)
        await settled(there.pilot)
        seen = [(segment.text.strip(), round(_contrast(segment), 1)) for segment in _texts(there.app)]
        assert len(seen) > 10
        assert [one for one in seen if one[1] < LEAST] == []

    at(monkeypatch, LARGE, look)


def test_the_same_letters_stand_there_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = []

    async def look(there: There) -> None:
        await there.press("tab", "n")
        rows.append(text_of(there.app))

    for colour in (True, False):
        at(monkeypatch, FLEETS["small"], look, colour=colour)
    assert rows[0] == rows[1]


def test_without_colours_the_cursor_is_reversed_and_what_is_marked_is_underlined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def look(there: There) -> None:
        await there.press("tab")
        strips = there.app.screen._compositor.render_strips()
        found = {segment.text.strip(): segment.style for strip in strips for segment in strip if segment.style}
        cursor, marked, other = found["· node001"], found["F node005"], found["F node012"]
        assert [one.reverse for one in (cursor, marked, other)] == [True, None, None]
        assert [one.underline for one in (cursor, marked, other)] == [None, True, None]

    at(monkeypatch, FLEETS["small"], look, (200, 60), colour=False)
