"""Saving the report: each form, each way in which it can fail, and what is there already."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from textual.pilot import Pilot
from textual.widgets import Button, Input, Static

from gpudoctor.facts import Facts
from gpudoctor.pipeline import CheckOptions
from gpudoctor.report.model import Report
from gpudoctor.tui.app import Doctor
from gpudoctor.tui.saving import SaveScreen, writing
from gpudoctor.tui.saving.forms import FORMS, masked_report
from gpudoctor.tui.saving.writing import NotSavedError, resolved, save, taken
from gpudoctor.tui.session import SessionSource
from tests.builders import change
from tests.checks.nvidia_machines import versions
from tests.tui.screens import run, settled, text_of

NAMES = ("workstation-of-anna", "/home/anna", "anna")


def personal() -> Facts:
    """A machine that tells whose it is."""
    facts = versions("550.90.07", "550.107.02", "550.107.02")
    facts = change(facts, "host.hostname", "workstation-of-anna")
    facts = change(facts, "host.user.name", "anna")
    return change(facts, "nvidia.nvml.text", "no answer in /home/anna/x on workstation-of-anna")


def use(what: Callable[[Pilot[Any]], Awaitable[None]], size: tuple[int, int] = (80, 24)) -> None:
    """Open the dialog on a recorded machine, and do something."""

    async def whole(pilot: Pilot[Any]) -> None:
        session = pilot.app.session  # type: ignore[attr-defined]
        await settled(pilot, lambda: session.report is not None and not session.running)
        await pilot.press("w")
        await settled(pilot)
        await what(pilot)

    run(lambda: Doctor(SessionSource(title="host.json", facts=personal())), whole, size)


async def name(pilot: Pilot[Any], path: str) -> None:
    """Write the name of the file, and press enter."""
    field = pilot.app.screen.query_one(Input)
    field.value = path
    field.focus()
    await pilot.press("enter")


def screen(pilot: Pilot[Any]) -> str:
    """What the dialog says, on however many lines."""
    return str(pilot.app.screen.query_one("#save-told", Static).content)


async def saved(pilot: Pilot[Any]) -> None:
    await settled(pilot, lambda: not isinstance(pilot.app.screen, SaveScreen))


@pytest.mark.parametrize("number", range(len(FORMS)))
def test_each_form_by_keys_alone(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def look(pilot: Pilot[Any]) -> None:
        await pilot.press(*["down"] * number)
        await settled(pilot)
        assert pilot.app.screen.query_one(Input).value == FORMS[number].file
        await pilot.press("enter")
        await saved(pilot)
        assert str(tmp_path) in [notice.message for notice in pilot.app._notifications][-1]

    use(look)
    text = (tmp_path / FORMS[number].file).read_text()
    assert "driver.library-mismatch" in text.replace("&#160;", " ")
    assert [one for one in NAMES if one in text] == []
    assert os.listdir(tmp_path) == [FORMS[number].file.removeprefix("./")]


def test_the_forms_are_what_they_say() -> None:
    report, facts = masked_report(personal(), CheckOptions())
    written = {form.name: form.render(report, facts) for form in FORMS}
    assert json.loads(written["JSON"])["status"] == "fail"
    assert written["Markdown"].startswith("**gpudoctor")
    assert written["HTML"].startswith("<!DOCTYPE html>")
    assert "H100" in written["HTML"] or "NVIDIA" in written["HTML"]
    assert ElementTree.fromstring(written["SVG"]).tag.endswith("svg")


def test_a_name_in_a_command_is_masked_too() -> None:
    facts = change(personal(), "nvidia.nvml.text", "asked by anna")
    text = FORMS[0].render(*masked_report(facts, CheckOptions()))
    assert "workstation-of-anna" not in text
    assert "/home/anna" not in text


def test_what_was_chosen_stays_chosen_in_what_is_saved() -> None:
    report, _ = masked_report(personal(), CheckOptions(only=("link",)))
    assert not any(entry.check.startswith("driver.") for entry in report.findings)


def test_by_mouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def look(pilot: Pilot[Any]) -> None:
        row = next(y for y, line in enumerate(text_of(pilot.app)) if "Markdown" in line)
        await pilot.click(offset=(text_of(pilot.app)[row].index("Markdown"), row))
        await settled(pilot)
        await pilot.click("#save-do")
        await saved(pilot)

    use(look)
    assert (tmp_path / "gpudoctor-report.md").exists()


def test_which_form_is_chosen_is_told_by_a_sign() -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await pilot.press("up")
        await settled(pilot)
        signs = [sign for line in text_of(pilot.app) for sign in line if sign in "○●"]
        assert signs == ["○", "○", "○", "●"]

    use(look)


def test_a_name_that_somebody_wrote_stays_and_its_suffix_follows() -> None:
    async def look(pilot: Pilot[Any]) -> None:
        field = pilot.app.screen.query_one(Input)
        for written, then in [("mine.json", "mine.md"), ("mine", "mine")]:
            field.value = written
            await pilot.press("down")
            await settled(pilot)
            assert field.value == then

    use(look)


def test_what_is_there_is_asked_about_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text("old")

    async def look(pilot: Pilot[Any]) -> None:
        await name(pilot, str(path))
        await settled(pilot)
        assert "Overwrite it?" in screen(pilot)
        await pilot.press("enter")  # a second enter, perhaps in haste, overwrites nothing
        await settled(pilot)
        assert isinstance(pilot.app.focused, Input)
        assert path.read_text() == "old"
        await pilot.press("escape")
        await saved(pilot)

    use(look)
    assert path.read_text() == "old"


def test_it_is_overwritten_where_somebody_says_so(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text("old")

    async def look(pilot: Pilot[Any]) -> None:
        await name(pilot, str(path))
        await settled(pilot)
        await pilot.click("#save-over")
        await saved(pilot)

    use(look)
    assert json.loads(path.read_text())["status"] == "fail"


def test_another_name_takes_the_question_back(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text("old")

    async def look(pilot: Pilot[Any]) -> None:
        await name(pilot, str(tmp_path / "old.json"))
        await settled(pilot)
        await name(pilot, str(tmp_path / "new.json"))
        await saved(pilot)

    use(look)
    assert (tmp_path / "old.json").read_text() == "old"
    assert (tmp_path / "new.json").exists()


def test_an_error_is_a_sentence_in_the_dialog_and_one_may_try_again(tmp_path: Path) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await name(pilot, str(tmp_path / "nowhere" / "a.json"))
        await settled(pilot)
        assert f"No such directory: {tmp_path}/nowhere." == screen(pilot)
        await name(pilot, str(tmp_path / "a.json"))
        await saved(pilot)

    use(look)
    assert (tmp_path / "a.json").exists()


def test_a_full_disk_is_a_sentence_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: str, __: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(writing, "write", full)

    async def look(pilot: Pilot[Any]) -> None:
        await name(pilot, str(tmp_path / "a.json"))
        await settled(pilot, lambda: "the disk is full." in screen(pilot))

    use(look)
    assert os.listdir(tmp_path) == []


def test_nothing_is_saved_while_probes_look() -> None:
    async def look(pilot: Pilot[Any]) -> None:
        session = pilot.app.session  # type: ignore[attr-defined]
        session.running = True
        pilot.app.changed.publish(session)  # type: ignore[attr-defined]
        await settled(pilot)
        assert pilot.app.screen.query_one("#save-do", Button).disabled
        assert "The probes are still running" in screen(pilot)
        await pilot.press("enter")
        await settled(pilot)
        assert isinstance(pilot.app.screen, SaveScreen)
        session.running = False
        pilot.app.changed.publish(session)  # type: ignore[attr-defined]
        await settled(pilot)
        assert not pilot.app.screen.query_one("#save-do", Button).disabled

    use(look)


def test_a_report_that_cannot_be_made_is_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(_: Facts, __: CheckOptions) -> Report:
        raise ValueError("x")

    monkeypatch.setattr("gpudoctor.tui.saving.screen.masked_report", broken)

    async def look(pilot: Pilot[Any]) -> None:
        await name(pilot, str(tmp_path / "a.json"))
        await settled(pilot, lambda: "The report could not be written: ValueError: x." in screen(pilot))

    use(look)


@pytest.mark.parametrize("works", [True, False])
def test_who_does_not_wait_is_told_all_the_same_and_no_other_dialog_is_closed(
    works: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    freed = threading.Event()

    def slow(_: str, text: str) -> int:
        freed.wait(20)
        if not works:
            raise NotSavedError("the disk is full")
        return len(text)

    monkeypatch.setattr("gpudoctor.tui.saving.screen.save", slow)

    async def look(pilot: Pilot[Any]) -> None:
        await pilot.press("enter", "escape")
        await settled(pilot, lambda: not isinstance(pilot.app.screen, SaveScreen))
        await pilot.press("w")
        await settled(pilot, lambda: isinstance(pilot.app.screen, SaveScreen))
        freed.set()
        title = "Saved" if works else "Not saved"
        await settled(pilot, lambda: title in [notice.title for notice in pilot.app._notifications])
        await pilot.pause(0.1)
        assert isinstance(pilot.app.screen, SaveScreen)

    use(look)


@pytest.mark.parametrize("looked", ["resolved", "taken"])
def test_a_dead_disk_holds_nobody_up(looked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    freed, asked = threading.Event(), threading.Event()

    def dead(_: str) -> str:
        asked.set()
        freed.wait(20)
        raise NotSavedError("It is dead.")

    monkeypatch.setattr(f"gpudoctor.tui.saving.screen.{looked}", dead)

    async def look(pilot: Pilot[Any]) -> None:
        try:
            await name(pilot, str(tmp_path / "a.json"))
            await settled(pilot, asked.is_set)
            await pilot.press("escape")
            await settled(pilot, lambda: not isinstance(pilot.app.screen, SaveScreen))
            assert not freed.is_set()
        finally:
            freed.set()
        await settled(pilot, lambda: "It is dead." in [notice.message for notice in pilot.app._notifications])

    use(look)


@pytest.mark.parametrize("size", [(80, 24), (40, 16), (200, 60)])
def test_the_dialog_fits(size: tuple[int, int]) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        for id_ in ("#save-name", "#save-do", "#save-leave"):
            widget = pilot.app.screen.query_one(id_)
            assert pilot.app.screen.region.contains_region(widget.region)
        await pilot.click("#save-leave")
        await saved(pilot)

    use(look, size)


def test_names_that_mean_no_file(tmp_path: Path) -> None:
    wrong = {
        "": "Enter a file name.",
        "  ": "Enter a file name.",
        "a\0b": "null",
        str(tmp_path): "is a directory",
        f"{tmp_path}/new/": "is a directory",
        f"{tmp_path}/no/where.json": "No such directory",
    }
    for given, words in wrong.items():
        with pytest.raises(NotSavedError, match=words):
            resolved(given)


def test_names_that_mean_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert resolved(" ./a.json ") == resolved("~/a.json") == str(tmp_path.resolve() / "a.json")
    (tmp_path / "link.json").symlink_to("a.json")
    assert resolved("link.json") == str(tmp_path.resolve() / "a.json")


def test_what_may_be_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    assert not taken(str(path))
    path.write_text("")
    assert taken(str(path))
    with pytest.raises(NotSavedError, match="no ordinary file"):
        taken("/dev/null")
    with pytest.raises(NotSavedError, match="cannot be looked at"):
        taken(str(tmp_path / ("x" * 300)))
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    with pytest.raises(NotSavedError, match="is read-only"):
        taken(str(path))


ERRORS = [
    (errno.ENOSPC, "the disk is full"),
    (errno.EROFS, "read-only file system"),
    (errno.EACCES, "permission denied"),
    (errno.EDQUOT, "disk quota exceeded"),
    (errno.EIO, "Input/output error"),
]


@pytest.mark.parametrize(("number", "words"), ERRORS)
def test_each_error_has_words(number: int, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: str, __: bytes) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(writing, "write", fails)
    with pytest.raises(NotSavedError, match=f"^/x cannot be written: {words}.$"):
        save("/x", "text")


def test_saving_tells_the_size(tmp_path: Path) -> None:
    assert save(str(tmp_path / "a"), "é") == 2
    assert (tmp_path / "a").read_text() == "é"
