"""Trying one finding again, with an examination that the test conducts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot

from gpudoctor.machine import Machine
from gpudoctor.parallel import StepEnded, StepStarted
from gpudoctor.pipeline import CheckOptions, Done, Event, Judged
from gpudoctor.report.model import Report
from gpudoctor.tui import app as app_module
from gpudoctor.tui.app import Doctor
from gpudoctor.tui.diagnosis import recheck_runner
from gpudoctor.tui.diagnosis.finding_list import FindingList
from gpudoctor.tui.session import SessionSource
from tests.tui.diagnosis.machines import MISMATCH, NARROW, REPORT, VERDICTS, mismatch
from tests.tui.screens import run, settled, text_of


class Conducted:
    """Stands in for `examine`: the whole examination gives REPORT, each later one what the test says.

    Attributes:
        answers: reports of the second looks, in their order; an exception is raised.
        asked: what each second look was for.
        go: set: second looks go on.
        machines: that the second looks were at.
    """

    def __init__(self, *answers: Report | Exception) -> None:
        self.answers, self.asked, self.go = list(answers), list[tuple[str, ...]](), threading.Event()
        self.machines: list[Machine] = []
        self.go.set()

    def whole(self, *_: Any) -> Iterator[Event]:
        yield StepStarted("host", "the machine")
        yield StepEnded("host", "the machine", 0.1)
        yield Judged(VERDICTS)
        yield Done(msgspec.structs.replace(REPORT), mismatch())

    def one(self, machine: Machine, options: CheckOptions) -> Iterator[Event]:
        self.asked.append(options.only)
        self.machines.append(machine)
        yield StepStarted("host", "the machine")
        yield StepStarted("pci", "the PCI bus")
        yield StepEnded("host", "the machine", 0.1)
        assert self.go.wait(20)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        yield Done(answer, mismatch())


def conduct(monkeypatch: pytest.MonkeyPatch, conducted: Conducted, what: Any) -> None:
    """Run the application with it, and wait for the first report."""
    monkeypatch.setattr(app_module, "examine", conducted.whole)
    monkeypatch.setattr(recheck_runner, "examine", conducted.one)

    async def whole(pilot: Pilot[Any]) -> None:
        await settled(pilot, lambda: pilot.app.session.facts and not pilot.app.session.running)  # type: ignore[attr-defined]
        await what(pilot)

    run(lambda: Doctor(SessionSource()), whole, (120, 40))


def screen(pilot: Pilot[Any]) -> str:
    return "\n".join(text_of(pilot.app))


async def came(pilot: Pilot[Any], words: str) -> None:
    await settled(pilot, lambda: words in screen(pilot))


def test_what_is_mended_is_marked_and_stays_until_all_is_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    conducted = Conducted(Report())

    async def look(pilot: Pilot[Any]) -> None:
        await pilot.press("x")
        await came(pilot, "✓ fixed")
        assert "Fixed: the check passes now." in screen(pilot)
        await pilot.press("r")
        await settled(pilot, lambda: "✓ fixed" not in screen(pilot))

    conduct(monkeypatch, conducted, look)
    assert conducted.asked == [("driver.library-mismatch", "driver.not-loaded", "wsl.*")]


def test_what_is_still_there_is_told_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    again = msgspec.structs.replace(MISMATCH, message="Now it is another.", consequences=())

    async def look(pilot: Pilot[Any]) -> None:
        await pilot.press("x")
        await came(pilot, "not fixed")
        assert "Now it is another." in screen(pilot)
        assert "▸ 3 consequences" in screen(pilot)

    conduct(monkeypatch, Conducted(Report(findings=(again,))), look)


def test_a_consequence_tries_its_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    conducted = Conducted(Report())

    async def look(pilot: Pilot[Any]) -> None:
        await pilot.press("space", "down", "x")
        await came(pilot, "✓ fixed")

    conduct(monkeypatch, conducted, look)
    assert conducted.asked[0][0] == "driver.library-mismatch"


def test_one_at_a_time_with_its_progress_and_keys_are_answered_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    conducted = Conducted(Report())
    conducted.go.clear()

    async def look(pilot: Pilot[Any]) -> None:
        await pilot.press("x")
        await came(pilot, "re-checking driver.library-mismatch: 1 of 2 probes")
        await pilot.press("down", "x")
        assert "one at a time" in [notice.message for notice in pilot.app._notifications][-1]
        found = pilot.app.screen.query_one(FindingList).item
        assert found is not None
        assert found.check == NARROW.check
        conducted.go.set()
        await came(pilot, "✓ fixed")

    conduct(monkeypatch, conducted, look)
    assert len(conducted.asked) == 1


def test_an_examination_of_everything_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    conducted = Conducted(Report())
    conducted.go.clear()

    async def look(pilot: Pilot[Any]) -> None:
        await pilot.press("x")
        await came(pilot, "re-checking driver.library-mismatch")
        await pilot.press("r")
        await settled(pilot, lambda: "re-checking" not in screen(pilot))
        assert conducted.machines[0].over, "its children were ended"
        conducted.go.set()  # what was cut off says nothing any more
        await settled(pilot, lambda: not [w for w in pilot.app.workers if w.group == "trial" and w.is_running])
        assert "fixed" not in screen(pilot)

    conduct(monkeypatch, conducted, look)


def test_leaving_ends_the_children_of_a_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    conducted = Conducted(Report())
    conducted.go.clear()

    async def look(pilot: Pilot[Any]) -> None:
        await pilot.press("x")
        await came(pilot, "re-checking driver.library-mismatch")
        await pilot.press("q")
        conducted.go.set()

    conduct(monkeypatch, conducted, look)
    assert conducted.machines[0].over


def test_a_trial_that_breaks_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await pilot.press("x")
        await came(pilot, "unknown")
        assert "ValueError: x" in screen(pilot)

    conduct(monkeypatch, Conducted(ValueError("x")), look)


def test_while_all_probes_look_one_cannot_be_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    conducted = Conducted()

    async def look(pilot: Pilot[Any]) -> None:
        session = pilot.app.session  # type: ignore[attr-defined]
        session.running = True
        await pilot.press("x")
        await came(pilot, "The probes are still running")

    conduct(monkeypatch, conducted, look)
    assert conducted.asked == []
