"""Every place and its keys on machines that nobody has on their desk: nothing breaks, nothing harms the terminal."""

import re
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from gpudoctor.tui.app import Doctor
from gpudoctor.tui.screens import PLACES
from gpudoctor.tui.session import SessionSource
from tests.tui.odd_machines import HARM, MACHINES
from tests.tui.screens import run, text_of
from tests.tui.test_app import judged

HARMFUL = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]")
# The keys of each place that show something else of its facts.
KEYS = {
    "diagnosis": ["p", "end", "home", "space", "enter", "down", "c", "escape", "f", "f", "a", "x", "C", "escape"],
    "gpus": ["end", "enter", "n", "b", "plus", "c", "escape"],
    "smoke": ["down", "space", "a", "e", "s", "d"],
    "environment": ["c", "end", "c", "f", "down", "enter", "c", "slash", "u", "n", "enter", "n", "escape"],
    "compare": ["end", "enter", "down", "enter", "c", "escape", "c", "m", "u", "slash", "g", "enter", "escape", "K"],
}


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def opened(facts: Facts) -> Doctor:
    app = Doctor(SessionSource(title=f"host.json{HARM}", facts=facts))
    app.animation_level = "none"
    return app


def harmless(app: Doctor) -> None:
    """Hold that what is written to the terminal can do nothing to it."""
    assert [row for row in text_of(app) if HARMFUL.search(row)] == []
    app.clipboard.encode()
    assert not HARMFUL.search(re.sub(r"[\n\t]", "", app.clipboard))


@pytest.mark.parametrize("name", MACHINES)
def test_every_key_of_every_place(name: str) -> None:
    async def press(pilot: Pilot[Any]) -> None:
        app = await judged(pilot)
        for place in PLACES:
            await pilot.press(place.key)
            await pilot.pause(0.05)  # nothing is waited for: each state is as good as another
            for key in KEYS[place.name]:
                await pilot.press(key)
                if "harmful" in name:  # the others' texts hold nothing that could do harm
                    harmless(app)
            harmless(app)

    run(lambda: opened(MACHINES[name]), press, (100, 30))


def test_the_harm_is_there() -> None:
    facts = MACHINES["harmful"]
    assert facts.pythons[0].path.endswith(HARM)
    assert HARM in facts.smoke.runs[0].python
    assert isinstance(MACHINES["harmful without an answer"].gpus, Unknown)
    assert HARM in MACHINES["harmful without an answer"].gpus.unknown
