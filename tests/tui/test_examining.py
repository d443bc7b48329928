"""How the application examines: again, ended in the middle, with a fault of ours, on a machine that is gone."""

import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot

from gpudoctor import demo
from gpudoctor.facts import Facts
from gpudoctor.machine import Machine
from gpudoctor.parallel import StepEnded, StepStarted
from gpudoctor.pipeline import CheckOptions, Done
from gpudoctor.pipeline import examine as app_examine
from gpudoctor.tui import app as app_module
from gpudoctor.tui.app import Doctor
from gpudoctor.tui.session import SessionSource
from tests.tui.screens import run, settled, text_of
from tests.tui.test_app import KEYS, judged


class Slow:
    """An examination of the running machine that goes on until somebody lets it."""

    def __init__(self) -> None:
        self.machines: list[Machine] = []
        self.go = threading.Event()

    def __call__(self, machine: Machine | None, options: CheckOptions, facts: Facts | None) -> Iterator[Any]:
        from gpudoctor.pipeline import examine

        assert machine is not None
        self.machines.append(machine)
        yield StepStarted("host", "the machine")
        while not self.go.wait(0.01) and not machine.over:
            pass
        yield StepEnded("host", "the machine", 0.1)
        title = f"kernel {len(self.machines)}"
        found = msgspec.structs.replace(demo.load("mismatch"), version=title)
        yield from (event for event in examine(None, options, found) if not isinstance(event, Done))
        (done,) = (event for event in examine(None, options, found) if isinstance(event, Done))
        yield done


def test_examining_again_ends_the_examination_before_and_its_late_events_are_nobodys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow = Slow()
    monkeypatch.setattr(app_module, "examine", slow)

    async def go(pilot: Pilot[Any]) -> None:
        app = pilot.app
        assert isinstance(app, Doctor)
        await settled(pilot, lambda: len(slow.machines) == 1)
        assert app.session.running
        await pilot.press("r")
        await settled(pilot, lambda: len(slow.machines) == 2)
        assert slow.machines[0].over
        assert not slow.machines[1].over
        slow.go.set()
        await judged(pilot)
        assert app.session.facts is not None
        assert app.session.facts.version == "kernel 2"

    run(lambda: Doctor(SessionSource()), go)


def test_a_late_word_of_the_last_machine_is_not_taken_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow()
    monkeypatch.setattr(app_module, "examine", lambda *of: slow(*of) if of[0] else app_examine(*of))
    seen: list[str] = []

    async def go(pilot: Pilot[Any]) -> None:
        app = pilot.app
        assert isinstance(app, Doctor)
        await settled(pilot, lambda: len(slow.machines) == 1)
        switch = app.switch_mode

        async def held(mode: str) -> None:
            slow.go.set()  # the last examination comes to its end in the middle of the change
            await pilot.pause(0.3)
            seen.append(app.session.facts.version if app.session.facts else "")
            await switch(mode)

        monkeypatch.setattr(app, "switch_mode", held)
        await app.open(SessionSource(title="demo: bad-link", facts=demo.load("bad-link")))
        await judged(pilot)

    run(lambda: Doctor(SessionSource()), go)
    assert seen
    assert set(seen) == {demo.load("bad-link").version}


def test_leaving_ends_the_examination(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow()
    monkeypatch.setattr(app_module, "examine", slow)

    async def go(pilot: Pilot[Any]) -> None:
        await settled(pilot, lambda: slow.machines)
        await pilot.press("q")

    run(lambda: Doctor(SessionSource()), go)
    assert slow.machines[0].over


def test_a_fault_of_ours_in_the_examination_is_shown_and_everything_else_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: object) -> Iterator[Any]:
        raise ZeroDivisionError("[red]division by zero[/]")

    monkeypatch.setattr(app_module, "examine", fails)

    async def go(pilot: Pilot[Any]) -> None:
        app = pilot.app
        assert isinstance(app, Doctor)
        await settled(pilot, lambda: app.session.error)
        assert re.search(r"ZeroDivisionError: \[red\]division by zero\[/\]", " ".join(text_of(app)))
        for key in KEYS:
            await pilot.press(key)
            await settled(pilot)

    run(lambda: Doctor(SessionSource()), go, (120, 40))


def test_a_machine_that_cannot_be_made_any_more_is_told(tmp_path: Path) -> None:
    os.mkdir(tmp_path / "root")

    def make() -> Machine:
        if not (tmp_path / "root").exists():
            raise ValueError("--root is no folder.")
        return Machine(root=str(tmp_path / "root"))

    async def go(pilot: Pilot[Any]) -> None:
        app = await judged(pilot)
        os.rmdir(tmp_path / "root")
        await pilot.press("r")
        await settled(pilot, lambda: app.session.error == "--root is no folder.")

    run(lambda: Doctor(SessionSource(make=make)), go)
