"""The place Compare, by its keys and by the mouse."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import ContentSwitcher, Input, OptionList

from gpudoctor.comparison import Comparison, Difference, DifferenceGroup, DifferenceState
from gpudoctor.facts import Facts
from gpudoctor.pipeline import Done, check
from gpudoctor.report.sanitize import document
from gpudoctor.tui.app import Doctor
from gpudoctor.tui.compare.choices import CompareChoice
from gpudoctor.tui.compare.full_values import Whole
from gpudoctor.tui.compare.screen import WAIT
from gpudoctor.tui.compare.table import DifferenceTable
from gpudoctor.tui.compare.view import ComparisonView
from gpudoctor.tui.footer import Footer
from gpudoctor.tui.session import SessionSource
from tests.builders import change
from tests.checks import healthy_nvidia as nv
from tests.checks.nvidia_machines import having, versions
from tests.tui.compare.test_models import ROWS
from tests.tui.screens import SIZES, compare, run, settled, text_of

GOOD = nv.hgx(nv.H100)
# It rests in another state than the others, so that its narrow link is a difference and no finding.
ILL = having(
    change(change(GOOD, "gpus.3.link_width", 4), "gpus.3.performance_state", 5),
    host__environment={"CUDA_HOME": "/opt/[red]cuda"},
)

PLAIN = Difference(
    path="driver.library-mismatch",
    group=DifferenceGroup.FINDINGS,
    state=DifferenceState.ONLY_HERE,
    here="FAIL: too old",
    there="",
)
# Each kind of row; how many there are in all changes with every new fact.
ANSWER = Comparison(here="ill", there="[red]good.json", rows=(PLAIN, *ROWS))


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a good machine, and an empty state."""
    here = tmp_path / "here"
    here.mkdir()
    (here / "good.json").write_text(document(GOOD))
    monkeypatch.setenv("PWD", str(here))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return here


def doctor(facts: Facts = ILL) -> Callable[[], Doctor]:
    return lambda: Doctor(SessionSource(title="ill", facts=facts))


def text(pilot: Pilot[Any]) -> str:
    return "\n".join(text_of(pilot.app))


async def there(pilot: Pilot[Any]) -> None:
    await settled(pilot, lambda: not pilot.app.session.running)  # type: ignore[attr-defined]
    await pilot.press("5")
    await settled(pilot, lambda: "good.json" in text(pilot))


async def compared(pilot: Pilot[Any]) -> None:
    """Beside good.json, the first of the list."""
    await there(pilot)
    await pilot.press("enter")
    await settled(pilot, lambda: pilot.app.screen.query_one(ComparisonView).comparison)


@pytest.mark.parametrize("size", SIZES)
def test_the_question_looks_as_it_did(size: tuple[int, int]) -> None:
    async def what(pilot: Pilot[Any]) -> None:
        await there(pilot)
        compare(pilot.app, "compare-question")

    run(doctor(), what, size)


@pytest.mark.parametrize("size", SIZES)
def test_the_answer_looks_as_it_did(size: tuple[int, int]) -> None:
    async def what(pilot: Pilot[Any]) -> None:
        await compared(pilot)
        pilot.app.screen.query_one(ComparisonView).show(ANSWER)
        await settled(pilot)
        compare(pilot.app, "compare-answer")

    run(doctor(), what, size)


def test_a_file_of_the_list_is_compared_and_its_rows_opened() -> None:
    async def what(pilot: Pilot[Any]) -> None:
        await compared(pilot)
        assert "GPU 3: PCIe lanes" in text(pilot)
        row = pilot.app.screen.query_one(DifferenceTable).row
        assert row is not None
        await pilot.press("c")
        assert pilot.app.clipboard.startswith(f"{row.label} ({row.path})\nill: ")
        await pilot.press("enter")
        await settled(pilot, lambda: isinstance(pilot.app.screen, Whole))
        assert row.path in text(pilot)
        await pilot.press("c", "escape")
        await settled(pilot, lambda: not isinstance(pilot.app.screen, Whole))

    run(doctor(), what, (120, 40))


def test_a_row_is_opened_by_the_mouse() -> None:
    async def what(pilot: Pilot[Any]) -> None:
        await compared(pilot)
        await pilot.click(pilot.app.screen.query_one(DifferenceTable).query_one(OptionList), offset=(4, 1))
        await settled(pilot, lambda: isinstance(pilot.app.screen, Whole))

    run(doctor(), what)


def test_a_path_is_typed_completed_and_compared(place: Path) -> None:
    (place / "reports").mkdir()
    (place / "reports" / "good.json").write_text(document(check(facts=GOOD)))

    async def what(pilot: Pilot[Any]) -> None:
        await there(pilot)
        await pilot.press("shift+tab", *"rep")
        await settled(pilot, lambda: pilot.app.screen.query_one(Input)._suggestion)
        await pilot.press("right", "g")
        await settled(pilot, lambda: "good.json" in pilot.app.screen.query_one(Input)._suggestion)
        await pilot.press("right", "enter")
        await settled(pilot, lambda: pilot.app.screen.query_one(ComparisonView).comparison)
        assert "One side is a report" in text(pilot).replace("\n ", " ")

    run(doctor(versions("570.169", "575.57", "575.57")), what, (120, 40))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not valid"),
        ('{"schema": "[red]/1"}', "has the schema '[red]/1'"),
        ('{"schema": "gpudoctor.report/1", "gpus": 3}', "The report file"),
    ],
)
def test_what_is_neither_facts_nor_a_report_is_told_in_a_sentence(place: Path, content: str, message: str) -> None:
    (place / "bad.json").write_text(content)

    async def what(pilot: Pilot[Any]) -> None:
        await there(pilot)
        await pilot.press("shift+tab", *"bad.json", "enter")
        await settled(pilot, lambda: all(word in text(pilot) for word in message.split()))  # lines break at any space
        assert pilot.app.screen.query_one(ContentSwitcher).current == "compare-chooser"
        await pilot.press("down", "down", "enter")  # another is taken
        await settled(pilot, lambda: pilot.app.screen.query_one(ComparisonView).comparison)
        await pilot.press("o")
        await settled(pilot)
        assert message not in text(pilot)

    run(doctor(), what, (120, 40))


def test_rows_are_searched_and_filtered() -> None:
    async def what(pilot: Pilot[Any]) -> None:
        await compared(pilot)
        await pilot.press("slash", *"link_width")
        await settled(pilot)
        assert "GPU 3: PCIe lanes" in text(pilot)
        assert "CUDA_HOME" not in text(pilot)
        assert "shown." in text(pilot)
        await pilot.press("enter", "escape")
        await settled(pilot)
        assert "CUDA_HOME" in text(pilot)
        assert "/opt/[red]cuda" in text(pilot)
        await pilot.press("m", "u")
        assert pilot.app.screen.query_one(ComparisonView).wanted == ("", False, False)
        await pilot.press("m", "u")
        assert pilot.app.screen.query_one(ComparisonView).wanted == ("", True, True)

    run(doctor(), what, (120, 40))


def test_escape_leads_back_to_the_comparison() -> None:
    async def what(pilot: Pilot[Any]) -> None:
        await there(pilot)
        await pilot.press("escape")  # there is none yet
        switcher = pilot.app.screen.query_one(ContentSwitcher)
        assert switcher.current == "compare-chooser"
        await pilot.press("enter")
        await settled(pilot, lambda: switcher.current == "compare-view")
        await pilot.press("o")
        assert switcher.current == "compare-chooser"
        await pilot.press("escape")
        assert switcher.current == "compare-view"

    run(doctor(), what)


def test_o_lets_type_a_path_and_escape_leaves_it() -> None:
    """What is typed into the path is no key: "q" of a file's name must not quit."""

    def shown(pilot: Pilot[Any]) -> list[str]:
        return [key.does for key, _ in pilot.app.screen.query_one(Footer).pieces()]

    async def what(pilot: Pilot[Any]) -> None:
        await there(pilot)
        assert "Back" not in shown(pilot)
        await pilot.press("o", *"1hq.json")
        box = pilot.app.screen.query_one(Input)
        assert (pilot.app.screen.focused, box.value) == (box, "1hq.json")
        assert "Back" in shown(pilot)
        await pilot.press("escape")
        await settled(pilot)
        assert pilot.app.screen.focused is pilot.app.screen.query_one(OptionList)
        assert "Back" not in shown(pilot)

    run(doctor(), what)


def test_another_examination_is_compared_again() -> None:
    async def what(pilot: Pilot[Any]) -> None:
        await compared(pilot)
        session = pilot.app.session  # type: ignore[attr-defined]
        session.take(Done(check(facts=GOOD), having(GOOD, created="2026-01-01T00:00:00Z")))
        pilot.app.changed.publish(session)  # type: ignore[attr-defined]
        await settled(pilot, lambda: "No relevant differences" in text(pilot))

    run(doctor(), what)


def test_an_answer_that_comes_late_is_not_shown_for_a_newer_question(monkeypatch: pytest.MonkeyPatch) -> None:
    freed, asked = threading.Event(), []

    def slow(choice: CompareChoice, title: str, facts: Facts) -> Comparison | str:
        asked.append(facts)
        if len(asked) == 1:
            freed.wait(20)
        return Comparison(here=f"question {len(asked)}" if facts is not ILL else "question 1", there="x")

    monkeypatch.setattr("gpudoctor.tui.compare.screen._compared", slow)

    async def what(pilot: Pilot[Any]) -> None:
        await there(pilot)
        await pilot.press("enter")
        await settled(pilot, lambda: len(asked) == 1)
        session = pilot.app.session  # type: ignore[attr-defined]
        session.take(Done(check(facts=GOOD), GOOD))
        pilot.app.changed.publish(session)  # type: ignore[attr-defined]
        view = pilot.app.screen.query_one(ComparisonView)
        await settled(pilot, lambda: view.comparison)
        freed.set()
        await pilot.pause(0.2)
        assert view.comparison is not None
        assert view.comparison.here == "question 2"

    run(doctor(), what)


def test_where_no_facts_will_come_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("gpudoctor.tui.app.examine", broken)

    async def what(pilot: Pilot[Any]) -> None:
        await there(pilot)
        await pilot.press("enter")
        await settled(pilot, lambda: "The checks failed, so there is nothing to compare" in text(pilot))

    run(lambda: Doctor(SessionSource()), what, (120, 40))


def test_while_there_are_no_facts_yet_it_waits_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    freed = threading.Event()

    def examined(*_: object) -> Iterator[Done]:
        freed.wait(20)
        yield Done(check(facts=ILL), ILL)

    monkeypatch.setattr("gpudoctor.tui.app.examine", examined)

    async def what(pilot: Pilot[Any]) -> None:
        await pilot.press("5")
        await settled(pilot, lambda: "good.json" in text(pilot))
        await pilot.press("enter")
        await settled(pilot, lambda: WAIT in text(pilot))
        freed.set()
        await settled(pilot, lambda: "GPU 3: PCIe lanes" in text(pilot))

    run(lambda: Doctor(SessionSource()), what, (120, 40))


def test_a_dead_disk_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    freed = threading.Event()
    for name, late in (("chooser.choices", []), ("completion.completed", None), ("saved_facts.keep", "/x")):
        monkeypatch.setattr(f"gpudoctor.tui.compare.{name}", lambda *_, late=late: freed.wait(20) and late)
    monkeypatch.setattr("gpudoctor.tui.app.examine", lambda *_: iter([Done(check(facts=ILL), ILL)]))

    async def what(pilot: Pilot[Any]) -> None:
        try:
            await settled(pilot, lambda: pilot.app.session.facts)  # type: ignore[attr-defined]
            await pilot.press("5", "K", "shift+tab", "x", "escape", "1")
            await settled(pilot, lambda: "Diagnosis" in text(pilot), 10)
            assert not freed.is_set()
        finally:
            freed.set()

    run(lambda: Doctor(SessionSource()), what)


def test_this_machine_is_kept_and_compared_with_later(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("gpudoctor.tui.app.examine", lambda *_: iter([Done(check(facts=ILL), ILL)]))

    async def what(pilot: Pilot[Any]) -> None:
        await there(pilot)
        await pilot.press("K")
        await settled(pilot, lambda: "This machine, saved earlier" in text(pilot))
        await pilot.press("home", "enter")
        await settled(pilot, lambda: "No relevant differences" in text(pilot))

    run(lambda: Doctor(SessionSource()), what)
    assert len(list((tmp_path / "state" / "gpudoctor").iterdir())) == 1


def test_a_recorded_machine_is_not_kept_and_a_closed_folder_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def recorded(pilot: Pilot[Any]) -> None:
        await there(pilot)
        await pilot.press("K")
        await settled(pilot, lambda: "This recorded machine is already a file." in text(pilot))

    run(doctor(), recorded, (120, 40))
    monkeypatch.setattr("gpudoctor.tui.app.examine", lambda *_: iter([Done(check(facts=ILL), ILL)]))
    (tmp_path / "state").write_text("a file in the way")

    async def closed(pilot: Pilot[Any]) -> None:
        await there(pilot)
        await pilot.press("K")
        await settled(pilot, lambda: "Cannot save the facts" in text(pilot))

    run(lambda: Doctor(SessionSource()), closed, (120, 40))


def test_it_fits_when_the_terminal_changes_its_size() -> None:
    async def what(pilot: Pilot[Any]) -> None:
        await compared(pilot)
        await pilot.resize_terminal(200, 60)
        await settled(pilot)
        assert "GPU 3: PCIe lanes" in text(pilot)
        await pilot.resize_terminal(60, 20)
        await settled(pilot)
        assert "PCIe lanes" in text(pilot)

    run(doctor(), what)


def test_demos_are_compared() -> None:
    async def what(pilot: Pilot[Any]) -> None:
        await there(pilot)
        await pilot.press("end", "enter")
        await settled(pilot, lambda: pilot.app.screen.query_one(ComparisonView).comparison)
        assert "demo: bad-link" in text(pilot)

    run(doctor(), what, (120, 40))
