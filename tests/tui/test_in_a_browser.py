"""What the application does without when it is shown in a browser: it writes nothing here, and opens no file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from gpudoctor.pipeline import CheckOptions
from gpudoctor.report.sanitize import document
from gpudoctor.tui import app
from gpudoctor.tui.app import Doctor
from gpudoctor.tui.saving.forms import FORMS
from gpudoctor.tui.session import SessionSource
from tests.checks import healthy_nvidia as nv
from tests.tui.screens import run, settled, text_of
from tests.tui.test_saving import NAMES, personal


class Served(Doctor):
    """The application as in a browser.

    Attributes:
        handed: the files that the browser got, by name.
    """

    CSS_PATH = str(Path(app.__file__).with_name("style.tcss"))

    def __init__(self, source: SessionSource) -> None:
        super().__init__(source)
        self.handed: dict[str, str] = {}

    @property
    def is_web(self) -> bool:
        return True

    def deliver_binary(self, path_or_file: str | Path | BinaryIO, **how: Any) -> str:
        assert not isinstance(path_or_file, str | Path)
        self.handed[how["save_filename"]] = path_or_file.read().decode()
        return ""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a machine's facts, in an empty home."""
    (tmp_path / "facts.json").write_text(document(nv.hgx(nv.H100)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PWD", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def written(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def recorded() -> Served:
    return Served(SessionSource(title="host.json", facts=personal()))


def text(pilot: Pilot[Any]) -> str:
    return "\n".join(text_of(pilot.app))


async def examined(pilot: Pilot[Any]) -> None:
    session = pilot.app.session  # type: ignore[attr-defined]
    await settled(pilot, lambda: session.report is not None and not session.running)


@pytest.mark.parametrize("number", range(len(FORMS)))
def test_a_report_is_handed_over(number: int, place: Path) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await examined(pilot)
        await pilot.press("w")
        await settled(pilot)
        assert not pilot.app.screen.query(Input)
        assert "Download" in text(pilot)
        await pilot.press(*["down"] * number)
        await settled(pilot)
        await pilot.press("enter")
        await settled(pilot, lambda: pilot.app.handed)  # type: ignore[attr-defined]
        await settled(pilot, lambda: "Save report" not in text(pilot))

    ended = run(recorded, look)
    ((name, report),) = ended.handed.items()  # type: ignore[attr-defined]
    assert name == FORMS[number].file.removeprefix("./")
    assert "driver.library-mismatch" in report.replace("&#160;", " ")
    assert [one for one in NAMES if one in report] == []
    assert written(place) == ["facts.json"]


def test_it_waits_for_the_probes(place: Path) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await examined(pilot)
        session = pilot.app.session  # type: ignore[attr-defined]
        session.running = True
        await pilot.press("w", "enter")
        await settled(pilot, lambda: "The probes are still running" in text(pilot))
        session.running = False
        pilot.app.changed.publish(session)  # type: ignore[attr-defined]
        await settled(pilot, lambda: "The probes are still running" not in text(pilot))
        await pilot.press("enter")
        await settled(pilot, lambda: pilot.app.handed)  # type: ignore[attr-defined]

    run(recorded, look)


def test_facts_are_handed_over(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    live = SessionSource(title="this machine", options=CheckOptions(quick=True))

    async def look(pilot: Pilot[Any]) -> None:
        await examined(pilot)
        pilot.app.session.facts = personal()  # type: ignore[attr-defined]
        await pilot.press("5")
        await settled(pilot, lambda: "Recorded machines" in text(pilot))
        await pilot.press("K")
        await settled(pilot, lambda: pilot.app.handed)  # type: ignore[attr-defined]

    monkeypatch.setattr(Served, "begin", _as_if_examined)
    ended = run(lambda: Served(live), look)
    ((name, facts),) = ended.handed.items()  # type: ignore[attr-defined]
    assert name.startswith("facts-20")
    assert json.loads(facts)["host"]["hostname"] not in NAMES
    assert written(place) == ["facts.json"]


def _as_if_examined(doctor: Doctor) -> None:
    """What is tried here begins where the probes have ended."""
    from gpudoctor.pipeline import Done, check

    doctor._begun = True
    doctor.session.take(Done(report=check(None, CheckOptions(), personal()), facts=personal()))


def test_no_path_can_be_typed_to_compare_with_and_no_file_is_listed() -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await examined(pilot)
        await pilot.press("5")
        await settled(pilot, lambda: "Recorded machines" in text(pilot))
        assert "facts.json" not in text(pilot)
        assert not pilot.app.screen.query("Chooser Input")
        assert isinstance(pilot.app.focused, OptionList)
        await pilot.press("down", "enter")
        await settled(pilot, lambda: "cpu-wheel" in text(pilot))

    run(recorded, look, (120, 40))


def test_no_file_can_be_opened() -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await examined(pilot)
        await pilot.press("6")
        await settled(pilot, lambda: "fleet run" in text(pilot))
        assert "opens the reports" not in text(pilot)
        await pilot.press("o")
        await settled(pilot)
        assert len(pilot.app.screen_stack) == 1
        for kind in ("facts", "samples", "fleet"):
            pilot.app.ask_for(kind)  # type: ignore[attr-defined]
        await settled(pilot)
        assert len(pilot.app.screen_stack) == 1
        await pilot.press("ctrl+p", *"open")
        await settled(pilot, lambda: "Open the demo" in text(pilot))
        for name in ("Open a facts file", "Play recorded samples", "Open a fleet"):
            assert name not in text(pilot)

    run(recorded, look, (120, 40))


def test_what_is_copied_is_kept_nowhere(place: Path) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await examined(pilot)
        await pilot.press("c")
        await settled(pilot, lambda: pilot.app._notifications)
        (notice,) = pilot.app._notifications
        assert (notice.title, notice.message) == ("Sent to the browser's clipboard", "sudo reboot")

    assert run(recorded, look).clipboard
    assert written(place) == ["facts.json"]


def test_the_terminal_of_the_page_is_told_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    async def look(pilot: Pilot[Any]) -> None:
        driver = pilot.app._driver
        assert driver is not None
        monkeypatch.setattr(driver, "write", said.append)
        await pilot.press("t")
        await settled(pilot, lambda: said)

    run(recorded, look)
    assert said == ["\x1b]11;#E4E4E4\x07"]
