"""The application's screen as rows of plain text, and the comparison of such rows with kept ones.

`GPUDOCTOR_SNAPSHOTS=write pytest tests/tui` writes the kept rows anew; look at the difference before it is committed.
"""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from pathlib import Path
from typing import Any

from textual import _wait
from textual._context import visible_screen_stack  # what App.export_screenshot sets through render_update
from textual.app import App
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot
from textual.screen import Screen

SNAPSHOTS = Path(__file__).parent / "snapshots"
SIZES = ((80, 24), (120, 40), (200, 60))
# How many checks there are changes with every new one, as does how many of them older recordings leave open; neither is
# a matter of the screen.
CHECKS = re.compile(r"\d+(?= (?:passed|not applicable|checks that apply here)\b)|(?<=\()\d+(?= checks\))")
OPEN = re.compile(r"\d+ unknown, (?=\d+ passed)")

_parsed = Stylesheet._parse_rules
_RULES: dict[Hashable, list[RuleSet]] = {}


def _parsed_once(sheet: Stylesheet, css: str, *about: Any, **more: Any) -> list[RuleSet]:
    """Parse a style in these colors: an application parses all of its own again, a third of what a test of it takes."""
    key = (css, about, *more.items(), *sheet._variables.items())
    if key not in _RULES:
        _RULES[key] = _parsed(sheet, css, *about, **more)
    return _RULES[key]


Stylesheet._parse_rules = _parsed_once  # type: ignore[method-assign, assignment]

# Behind each key Textual's pilot sleeps 20 ms before it looks whether the application still works, and no other test of
# this process runs meanwhile.
_wait.SLEEP_GRANULARITY = 1 / 200

# A terminal shows each change of a widget, and drawing them takes half the time of a test. There is none: what changed
# is drawn at once where a test waits for the screen.
_drawn = Screen._compositor_refresh
Screen._compositor_refresh = lambda _: None  # type: ignore[method-assign, assignment]


def text_of(app: App[Any]) -> list[str]:
    """The rows of the whole current screen, what lies under a dialog included, without blanks at their ends."""
    visible_screen_stack.set(app._background_screens)
    return [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]


async def settled(pilot: Pilot[Any], until: Callable[[], object] = lambda: True, seconds: float = 20.0) -> None:
    """Wait for the application's workers and for a condition; then for what is still to be drawn.

    Raises:
        AssertionError: the condition did not come true in time.
    """
    end = asyncio.get_running_loop().time() + seconds
    while not until():
        assert asyncio.get_running_loop().time() < end, "\n".join(["it never came:", *text_of(pilot.app)])
        await pilot.pause(0.02)
    await pilot.pause()
    with suppress(TimeoutError):
        await asyncio.wait_for(pilot.wait_for_scheduled_animations(), 2)
    for screen in pilot.app.screen_stack:
        _drawn(screen)
    await pilot.pause()


def run(
    make: Callable[[], App[Any]],
    what: Callable[[Pilot[Any]], Awaitable[object]],
    size: tuple[int, int] = (80, 24),
) -> App[Any]:
    """Run an application without a terminal, do something with it, and give it back when it has ended."""

    async def whole() -> App[Any]:
        app = make()
        app.animation_level = "none"  # each would be waited for
        async with app.run_test(size=size, notifications=True) as pilot:
            await what(pilot)
        return app

    return asyncio.run(whole())


def compare(app: App[Any], name: str) -> None:
    """Hold the current screen against tests/tui/snapshots/NAME-WIDTHxHEIGHT.txt.

    Raises:
        AssertionError: they differ, or there is no such file.
    """
    path = SNAPSHOTS / f"{name}-{app.size.width}x{app.size.height}.txt"
    rows = CHECKS.sub("N", OPEN.sub("", "\n".join(text_of(app)) + "\n"))
    if os.environ.get("GPUDOCTOR_SNAPSHOTS") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(rows, encoding="utf-8")
    assert path.exists(), f"{path} is not there: GPUDOCTOR_SNAPSHOTS=write makes it"
    assert rows == path.read_text(encoding="utf-8")
