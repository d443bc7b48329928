"""Recorded machines: their results are shown, and nothing can be run."""

import pytest
from textual.containers import VerticalScroll

from gpudoctor.tui.diagnosis.finding_list import FindingList
from gpudoctor.tui.smoke.chooser import SmokeChooser
from tests.builders import plain_host
from tests.checks.smoke_machines import ill, machine, on_cpu
from tests.tui.screens import compare
from tests.tui.smoke.kit import There, recorded

EIGHT = ill(machine(count=8), "transfer", at=3, figures={"h2d pinned": 12.0})


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_eight_gpus_of_which_one_has_a_bad_link(size: tuple[int, int]) -> None:
    async def do(there: There) -> None:
        compare(there.app, "smoke-eight")
        assert "FAIL PyTorch on GPU 3 copies at 12 of 63 GB/s (19%) to the GPU." in there.text

    recorded(EIGHT, do, size)


def test_nothing_can_be_run() -> None:
    async def do(there: There) -> None:
        assert "This is a recorded machine: tests cannot run on it." in there.text
        assert not there.place.query_one(SmokeChooser).display
        assert not there.place.query_one("#go").region
        await there.press("s", "escape", "v", "a")
        assert there.runner.course is None
        assert "Start" not in there.text

    recorded(EIGHT, do)


def test_the_results_are_scrolled_by_keys_from_their_beginning() -> None:
    async def do(there: There) -> None:
        results = there.place.query_one("#smoke-results", VerticalScroll)
        results.focus()
        assert results.scroll_y == 0
        await there.press("end")
        assert "PyTorch 2.9.1 on GPU 7" in there.text
        await there.pilot.resize_terminal(200, 60)
        await there.until(lambda: there.app.size.width == 200)
        assert "PyTorch 2.9.1 on GPU 7" in there.text

    recorded(EIGHT, do)


def test_a_finding_is_selected_in_the_diagnosis() -> None:
    async def do(there: There) -> None:
        there.place.query_one("#smoke-findings").focus()
        await there.press("down")
        for key in ("enter", "d", "click"):
            await (there.click("#smoke-findings", row=1) if key == "click" else there.press(key))
            await there.until(lambda: there.app.current_mode == "diagnosis")
            item = there.app.screen.query_one(FindingList).item
            assert item is not None
            assert (item.check, item.subjects) == ("smoke.slow-link", ("PyTorch on GPU 3",))
            await there.press("up", "3")
            await there.until(lambda: there.app.current_mode == "smoke")

    recorded(ill(EIGHT, "bandwidth", at=5, notes={"wrong": 3}), do)


def test_a_machine_without_results_says_how_to_get_them() -> None:
    async def do(there: There) -> None:
        assert "No smoke tests were recorded. `gpudoctor check --smoke` or `gpudoctor smoke` runs them" in there.text
        assert "runs them on the machine itself." in there.text

    recorded(plain_host(), do, (80, 24))


def test_a_machine_that_was_tested_on_its_cpu() -> None:
    async def do(there: There) -> None:
        assert "5 tests passed, no problems found." in there.text

    recorded(on_cpu(), do)
