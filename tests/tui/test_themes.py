"""The colours of each place: text that can be read in each theme, and a cursor that is seen without colours."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from rich.segment import Segment
from textual.pilot import Pilot

from gpudoctor import demo
from gpudoctor.tui.app import Doctor
from gpudoctor.tui.session import SessionSource
from gpudoctor.tui.themes import DARK, LIGHT
from tests.tui.screens import run, settled

LEAST = 4.5  # of text (Web Content Accessibility Guidelines 2.2, 1.4.3)
# Lines, bars and charts tell nothing that words beside them do not.
DRAWN = "▏┃▕─━╸▔▁▂▃▄▅▆▇█▊▎│├└╰╯╭╮▐▌ "
WAYS: tuple[tuple[str, ...], ...] = (
    (),
    ("enter",),
    ("space", "down"),
    ("p",),
    ("slash", "n"),
    ("2",),
    ("2", "enter"),
    ("3",),
    ("3", "tab"),
    ("4",),
    ("4", "f"),
    ("5",),
)


@pytest.fixture(autouse=True)
def _coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal of somebody who has set nothing."""
    monkeypatch.delenv("NO_COLOR", raising=False)


def _opened(colour: bool = True) -> Doctor:
    return Doctor(SessionSource(title="demo: bad-link", facts=demo.load("bad-link"), demo="bad-link"), colour)


async def _typed(pilot: Pilot[Any], keys: Sequence[str]) -> Doctor:
    app = pilot.app
    assert isinstance(app, Doctor)
    await settled(pilot, lambda: app.session.report is not None and not app.session.running)
    for key in keys:
        await pilot.press(key)
        await settled(pilot)
    return app


def _luminance(colour: tuple[int, int, int]) -> float:
    shares = [part / 255 for part in colour]
    red, green, blue = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(segment: Segment) -> float:
    style = segment.style
    assert style is not None
    assert style.color is not None
    assert style.bgcolor is not None
    one, other = (_luminance(colour.get_truecolor()) for colour in (style.color, style.bgcolor))
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def _texts(app: Doctor) -> Iterator[Segment]:
    """What is written on the screen, as the terminal gets it."""
    for strip in app.screen._compositor.render_strips():
        for segment in strip:
            if not all(sign in DRAWN or "\u2800" <= sign <= "\u28ff" for sign in segment.text):
                yield segment


@pytest.mark.parametrize("keys", WAYS, ids=" ".join)
def test_all_text_can_be_read_in_each_theme(keys: tuple[str, ...]) -> None:
    async def go(pilot: Pilot[Any]) -> None:
        app = await _typed(pilot, keys)
        for theme in (DARK, LIGHT):
            app.theme = theme.name
            await settled(pilot)
            seen = [(segment.text.strip(), round(_contrast(segment), 1)) for segment in _texts(app)]
            assert len(seen) > 10
            assert [one for one in seen if one[1] < LEAST] == []

    run(_opened, go, (120, 40))


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ((), "WARN    PCIe link"),
        (("3", "tab"), "WARN"),
        (("5",), "mismatch: "),
        (("w", "shift+tab"), "JSON: "),
        (("w", "tab"), "Save"),
        (("ctrl+p",), "Copy (c)"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_without_colour_the_cursor_is_reversed(
    keys: tuple[str, ...], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    def reversed_(app: Doctor) -> str:
        return "".join(s.text for s in _texts(app) if s.style and s.style.reverse)

    async def go(pilot: Pilot[Any]) -> None:
        app = await _typed(pilot, keys)
        await settled(pilot, lambda: text in reversed_(app))

    run(lambda: _opened(colour=False), go, (120, 40))
