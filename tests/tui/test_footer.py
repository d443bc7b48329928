"""The last row in all widths: those that always stay are at its right end, and it never overflows."""

import pytest
from textual.pilot import Pilot

from gpudoctor.tui.footer import Footer, Key, row
from gpudoctor.tui.keys import KeysScreen
from tests.tui.screens import run, settled, text_of
from tests.tui.test_app import judged, opened

KEYS = [
    Key("c", "c", "Copy"),
    Key("x", "x", "Re-check this"),
    Key("r", "r", "Re-run all"),
    Key("question_mark", "?", "Keys", last=True),
    Key("q", "q", "Quit", last=True),
]
LAST = 16  # columns of those that stay


@pytest.mark.parametrize("width", range(LAST, 120))
def test_it_never_overflows_and_the_last_ones_end_it(width: int) -> None:
    pieces = row(width, KEYS)
    assert sum(key.columns + blanks for key, blanks in pieces) == width
    assert [key for key, _ in pieces][-2:] == KEYS[-2:]
    shown = [key for key, _ in pieces][:-2]
    assert shown == KEYS[: len(shown)]


@pytest.mark.parametrize(
    ("width", "shown"), [(16, 0), (22, 0), (23, 0), (24, 1), (34, 1), (40, 1), (41, 2), (54, 2), (55, 3)]
)
def test_as_many_as_have_room(width: int, shown: int) -> None:
    assert len(row(width, KEYS)) == shown + 2


def test_a_click_on_a_key_is_as_good_as_the_key() -> None:
    async def go(pilot: Pilot[int]) -> None:
        app = await judged(pilot)
        last = text_of(app)[-1]
        await pilot.click(Footer, offset=(last.index("Keys"), 0))
        await settled(pilot, lambda: isinstance(app.screen, KeysScreen))
        await pilot.click(offset=(0, 0))  # beside the dialog
        await settled(pilot, lambda: not isinstance(app.screen, KeysScreen))
        blank = text_of(app)[-1].index("    ") + 2
        await pilot.click(Footer, offset=(blank, 0))
        await settled(pilot)
        assert app.is_running
        await pilot.click(Footer, offset=(text_of(app)[-1].index("Quit"), 0))

    assert run(opened, go, (100, 24)).return_value == 0


def test_it_follows_what_has_the_focus() -> None:
    async def go(pilot: Pilot[int]) -> None:
        app = await judged(pilot)
        assert "Copy" in text_of(app)[-1]
        assert "Re-" not in text_of(app)[-1]  # it is a recorded machine
        await pilot.press("3")
        await settled(pilot, lambda: "Copy" not in text_of(app)[-1])
        await pilot.press("w")
        await settled(pilot, lambda: len(app.screen_stack) == 2)

    run(opened, go)
