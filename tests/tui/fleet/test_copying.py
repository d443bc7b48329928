"""What is copied in the place Fleet, and the reports of single nodes that it opens."""

from pathlib import Path

import msgspec
import pytest

from gpudoctor.fleet.summary import Fleet
from gpudoctor.pipeline import check
from gpudoctor.report.sanitize import document
from gpudoctor.tui.fleet.node_report import NodeReport
from tests.builders import nvidia_host
from tests.checks.nvidia_machines import versions
from tests.fleet.aggregate.reports import report
from tests.tui.fleet.kit import LARGE, There, at
from tests.tui.screens import settled, text_of

ILL = versions("570.169", "575.57", "575.57")


@pytest.fixture(autouse=True)
def _kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Commands that are copied are kept here."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_the_commands_and_the_nodes_are_copied(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def look(there: There) -> None:
        await there.press("c")
        assert there.app.clipboard == "sudo reboot"
        await there.press("y")
        assert there.app.clipboard == "node[0005-0008,0501-0503]"
        await there.press("enter", "down", "c")
        assert there.app.clipboard == "nvidia-smi"
        await there.press("C")
        assert there.app.clipboard == "sudo reboot"
        await there.press("escape", "n", "y")
        assert there.app.clipboard == "node0005"
        await there.press("c")
        assert there.app.clipboard == "sudo reboot"

    at(monkeypatch, LARGE, look)
    kept = (tmp_path / "state" / "gpudoctor" / "commands.sh").read_text()
    assert "# driver.library-mismatch (fleet run-7, " in kept


def test_the_nodes_of_several_values_are_copied_as_one_set(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(there: There) -> None:
        for _ in range(8):
            await there.press("down")
        assert "gpus.*.vbios" in there.detail
        await there.press("y")
        assert there.app.clipboard == "node[0003-0004,0017]"

    at(monkeypatch, LARGE, look)


def test_a_click_on_the_set_copies_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(there: There) -> None:
        row = next(number for number, row in enumerate(text_of(there.app)) if " on         node[" in row)
        await there.pilot.click(offset=(text_of(there.app)[row].index(" on         node[") + 15, row))
        await settled(there.pilot)
        assert there.app.clipboard == "node[0005-0008,0501-0503]"

    at(monkeypatch, LARGE, look)


def test_where_there_is_nothing_to_copy_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(there: There) -> None:
        await there.press("y")
        assert "There are no nodes to copy here." in there.text
        await there.press("c")
        assert "There is no command to copy here." in there.text

    at(monkeypatch, Fleet(total=0), look)


# -- the report of one node ------------------------------------------------------------------------------


def _reports(folder: Path) -> None:
    (folder / "reports").mkdir()
    (folder / "reports" / "node0005.json").write_text(document(check(facts=ILL)))
    (folder / "reports" / "node0001.json").write_text(document(check(facts=nvidia_host())))
    (folder / "reports" / "node0006.json").write_text("{")


def test_enter_opens_a_node_s_own_report_and_escape_leads_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _reports(tmp_path)

    async def look(there: There) -> None:
        await there.press("n", "enter")
        await there.until(lambda: isinstance(there.app.screen, NodeReport))
        await settled(there.pilot)
        assert "node0005  FAIL" in there.text
        assert "570.169" in there.text
        await there.press("c")
        assert there.app.clipboard
        await there.press("enter", "escape", "u", "u", "escape")
        await there.until(lambda: not isinstance(there.app.screen, NodeReport))
        assert there.grid.name_at_cursor == "node0005"

    at(monkeypatch, LARGE, look, paths=[str(tmp_path)])


@pytest.mark.parametrize(
    ("keys", "message"),
    [(("n", "n"), "valid"), (("n", "right", "right", "right", "right"), "There is no report of node0009")],
)
def test_a_report_that_cannot_be_shown_is_told(
    keys: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _reports(tmp_path)

    async def look(there: There) -> None:
        await there.press(*keys, "enter")
        await there.until(lambda: message in there.text)
        assert not isinstance(there.app.screen, NodeReport)

    at(monkeypatch, LARGE, look, paths=[str(tmp_path)])


def test_the_report_of_a_node_is_folded_and_its_fix_copied(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _reports(tmp_path)

    async def look(there: There) -> None:
        await there.press("n", "enter")
        await there.until(lambda: isinstance(there.app.screen, NodeReport))
        await settled(there.pilot)
        before = there.text
        await there.press("space")
        assert "└─" in there.text
        await there.press("space")
        assert there.text == before
        await there.press("C")
        assert there.app.clipboard == "sudo reboot"
        await there.press("enter", "left", "escape")
        await there.until(lambda: not isinstance(there.app.screen, NodeReport))

    at(monkeypatch, LARGE, look, paths=[str(tmp_path)])


def test_the_report_of_a_node_without_findings_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "node0001.json").write_bytes(msgspec.json.encode(report(status="pass")))
    (tmp_path / "node0002.json").write_bytes(msgspec.json.encode(report(status="incomplete")))

    async def look(there: There) -> None:
        await there.press("tab")
        for message in (
            "No problems found; no framework was checked.",
            "No problems found, but some facts are unknown.",
        ):
            await there.press("enter")
            await there.until(lambda: isinstance(there.app.screen, NodeReport))
            await there.until(lambda message=message: message in there.text)  # type: ignore[misc]
            await there.press("escape")
            await there.until(lambda: not isinstance(there.app.screen, NodeReport))
            await there.press("right")

    at(monkeypatch, LARGE, look, paths=[str(tmp_path)])
