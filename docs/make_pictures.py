"""Draws docs/pictures/*.svg, what the application shows of the demos: `python docs/make_pictures.py [NAME ...]`."""

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

for name in ("NO_COLOR", "TEXTUAL_THEME"):
    os.environ.pop(name, None)

from textual.pilot import Pilot  # noqa: E402 - it reads the environment when it is loaded

HERE = Path(__file__).resolve().parent / "pictures"
sys.path.insert(0, str(HERE.parent.parent))  # where the fleet that nobody has comes from

from benchmarks.fleet_reports import written  # noqa: E402
from gpudoctor import demo  # noqa: E402
from gpudoctor.fleet.runner.ledger import Ledger  # noqa: E402
from gpudoctor.tui.app import Doctor  # noqa: E402
from gpudoctor.tui.session import SessionSource  # noqa: E402

# The picture asks no other server for its font.
FONT_FACE = re.compile(r"@font-face \{.*?\}\s*", re.S)


class Picture(NamedTuple):
    """One picture: its demo, or FLEET, its size, what is typed, and for how long time passes afterwards."""

    name: str
    demo: str
    keys: tuple[str, ...] = ()
    size: tuple[int, int] = (120, 36)
    seconds: float = 0.5


FLEET, NODES, GONE = "fleet", 1200, 7  # nodes that reported, and those that did not
PICTURES = (
    Picture("diagnosis", "mismatch"),
    Picture("diagnosis-80x24", "cpu-wheel", size=(80, 24)),
    Picture("diagnosis-light", "cpu-wheel", ("t",)),
    Picture("gpus", "bad-link", ("2",), seconds=3.0),
    Picture("gpu", "bad-link", ("2", "down", "down", "down", "down", "down", "enter"), seconds=3.0),
    Picture("smoke", "bad-link", ("3",)),
    Picture("environment", "bad-link", ("4",)),
    Picture("facts", "bad-link", ("4", "v")),
    Picture("compare", "cpu-wheel", ("5", "down", "down", "enter")),
    Picture("fleet", FLEET, ("down",), size=(140, 44)),
    Picture("palette", "mismatch", ("ctrl+p",)),
    Picture("keys", "mismatch", ("question_mark",)),
)


async def draw(picture: Picture) -> None:
    """Open the demo, or the fleet, type, wait, and keep what is seen."""
    with _opened(picture.demo) as app:
        await _draw(picture, app)


@contextmanager
def _opened(name: str) -> Iterator[Doctor]:
    if name != FLEET:
        yield Doctor(SessionSource(title=f"demo: {name}", facts=demo.load(name), demo=name))
        return
    with tempfile.TemporaryDirectory() as folder:
        reports = Path(folder) / "run-7" / "reports"
        reports.mkdir(parents=True)
        ledger = Ledger(str(reports.parent / "ledger.jsonl"))
        for node in list(written(reports, NODES, smoke=True)):
            ledger.note(node, "reported")
        for number in range(NODES, NODES + GONE):
            ledger.note(f"node{number:06d}", "unreachable", "ssh: connect to host: No route to host")
        ledger.close()
        yield Doctor(SessionSource(), fleet=(str(reports.parent),))


def _ready(app: Doctor) -> bool:
    if app.fleet.paths:
        return app.fleet.fleet is not None
    return not app.session.running and app.session.report is not None


async def _draw(picture: Picture, app: Doctor) -> None:
    async with app.run_test(size=picture.size, notifications=True) as pilot:
        while not _ready(app):
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
