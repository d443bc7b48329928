"""Draws docs/pictures/*.svg, what the application shows of the demos: `python docs/make_pictures.py [NAME ...]`."""

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import NamedTuple

for name in ("NO_COLOR", "TEXTUAL_THEME"):
    os.environ.pop(name, None)

from textual.pilot import Pilot  # noqa: E402 - it reads the environment when it is loaded

from gpudoctor import demo  # noqa: E402
from gpudoctor.tui.app import Doctor  # noqa: E402
from gpudoctor.tui.session import Source  # noqa: E402

HERE = Path(__file__).resolve().parent / "pictures"
# The picture asks no other server for its font.
FONT_FACE = re.compile(r"@font-face \{.*?\}\s*", re.S)


class Picture(NamedTuple):
    """One picture: its demo, its size, what is typed, and for how long time passes afterwards."""

    name: str
    demo: str
    keys: tuple[str, ...] = ()
    size: tuple[int, int] = (120, 36)
    seconds: float = 0.5


PICTURES = (
    Picture("diagnosis", "mismatch"),
    Picture("diagnosis-80x24", "cpu-wheel", size=(80, 24)),
    Picture("diagnosis-light", "cpu-wheel", ("t",)),
    Picture("gpus", "bad-link", ("2",), seconds=3.0),
    Picture("gpu", "bad-link", ("2", "down", "down", "down", "down", "down", "enter"), seconds=3.0),
    Picture("smoke", "bad-link", ("3",)),
    Picture("environment", "bad-link", ("4",)),
    Picture("facts", "bad-link", ("4", "f")),
    Picture("compare", "cpu-wheel", ("5", "down", "down", "enter")),
    Picture("palette", "mismatch", ("ctrl+p",)),
    Picture("keys", "mismatch", ("question_mark",)),
)


async def draw(picture: Picture) -> None:
    """Open the demo, type, wait, and keep what is seen."""
    app = Doctor(Source(title=f"demo: {picture.demo}", facts=demo.load(picture.demo), demo=picture.demo))
    async with app.run_test(size=picture.size, notifications=True) as pilot:
        while app.session.running or app.session.report is None:
            await pilot.pause(0.05)
        for key in picture.keys:
            await pilot.press(key)
            await _settle(pilot)
        await pilot.pause(picture.seconds)
        text = app.export_screenshot(title="gpudoctor", simplify=True)
    (HERE / f"{picture.name}.svg").write_text(FONT_FACE.sub("", text), encoding="utf-8")


async def _settle(pilot: Pilot[int]) -> None:
    await pilot.pause(0.3)
    await pilot.wait_for_scheduled_animations()


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for one in PICTURES:
        if one.name in sys.argv[1:] or not sys.argv[1:]:
            asyncio.run(draw(one))
