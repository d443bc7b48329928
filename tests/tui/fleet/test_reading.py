"""The place Fleet while its reports are read, and what prevents that."""

import threading
from typing import Any

import pytest
from textual.pilot import Pilot

from gpudoctor.fleet.summary import Fleet
from gpudoctor.tui.app import Doctor
from gpudoctor.tui.session import SessionSource
from tests.builders import nvidia_host
from tests.fleet.fleets import large
from tests.tui.fleet.kit import LARGE, SUMMARY, There, at
from tests.tui.screens import run, settled, text_of


def test_it_is_drawn_before_the_reports_are_read_and_keys_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    freed, reported = threading.Event(), threading.Event()

    def slow(_: Any, tell: Any) -> Fleet:
        for number in range(1, 301):
            tell(number)
        reported.set()
        freed.wait(20)
        return LARGE

    monkeypatch.setattr(SUMMARY, slow)

    async def look(pilot: Pilot[Any]) -> None:
        try:
            await settled(pilot, lambda: "Reading /data/run-7: 300 reports" in "\n".join(text_of(pilot.app)))
            await pilot.press("question_mark")
            await settled(pilot, lambda: "Reload the reports" in "\n".join(text_of(pilot.app)))
            await pilot.press("escape")
            assert reported.is_set()
            assert not freed.is_set()
        finally:
            freed.set()
        await settled(pilot, lambda: "1,000 nodes" in text_of(pilot.app)[1])

    run(lambda: Doctor(SessionSource(), fleet=("/data/run-7",)), look)


def test_a_fault_is_a_sentence_and_what_was_read_before_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(there: There) -> None:
        def broken(*_: object) -> Fleet:
            raise ZeroDivisionError("[red]")

        monkeypatch.setattr(SUMMARY, broken)
        await there.press("r")
        await there.until(lambda: "gpudoctor itself failed: ZeroDivisionError: [red]." in there.text)
        assert "1,000 nodes" in there.text

    at(monkeypatch, LARGE, look)


def test_where_nothing_can_be_read_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudoctor.tui.fleet.reader.read", lambda *_: "DIR contains no report.")

    async def look(pilot: Pilot[Any]) -> None:
        await settled(pilot, lambda: "DIR contains no report." in "\n".join(text_of(pilot.app)))
        assert "`o` opens other reports" in "\n".join(text_of(pilot.app))

    run(lambda: Doctor(SessionSource(), fleet=("/data/run-7",)), look)


def test_reading_again_keeps_what_is_selected(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(there: There) -> None:
        await there.press("down", "n")
        newer = large(2000, width=4)
        monkeypatch.setattr(SUMMARY, lambda *_: newer)
        await there.press("r")
        await there.until(lambda: there.app.fleet.fleet and there.app.fleet.fleet.total == 2000)
        await settled(there.pilot)
        assert there.grid.name_at_cursor == "node0012"
        assert "2,000 nodes" in there.text
        assert there.list.entry is not None
        assert there.list.entry.about.check == "link.narrow-pcie"  # type: ignore[union-attr]

    at(monkeypatch, LARGE, look)


def test_another_machine_leaves_the_fleet_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(there: There) -> None:
        monkeypatch.setattr(SUMMARY, lambda *_: large(40))
        await there.app.open(SessionSource(title="another", facts=nvidia_host()))
        assert text_of(there.app)[0].endswith("another")
        await there.press("6")
        await there.until(lambda: "1,000 nodes" in there.text)
        assert not there.app.fleet.running

    at(monkeypatch, LARGE, look)
