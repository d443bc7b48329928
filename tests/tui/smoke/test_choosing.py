"""Choosing by keyboard and mouse, and what cannot be chosen."""

import pytest
from textual.widgets import Static

from gpudoctor.facts import Smoke
from gpudoctor.smoketests.suite import TESTS
from gpudoctor.tui.smoke.options import NO_GPU
from gpudoctor.tui.smoke.selection import SmokePicks
from tests.builders import change, plain_host
from tests.checks.smoke_machines import machine
from tests.tui.screens import compare
from tests.tui.smoke.kit import There, at

QUICK = tuple(test.name for test in TESTS if test.quick)
EVERY = tuple(test.name for test in TESTS)


def test_the_quick_suite_is_preset_and_what_would_run_is_said() -> None:
    async def do(there: There) -> None:
        assert there.picked("tests") == QUICK
        assert there.app.focused is there.place.query_one("#tests")
        assert "7 tests: NumPy on CPU." not in there.text
        assert "Tests 7 of 13" in there.text
        assert "PyTorch on GPU 0" in there.text

    at(machine(), do)


def test_without_a_gpu_that_is_said_first_and_nothing_starts_before_somebody_chooses_the_cpu() -> None:
    async def do(there: There) -> None:
        assert NO_GPU in there.text
        await there.press("s")
        assert there.runner.course is None
        assert any(NO_GPU in note.message for note in there.app._notifications)
        there.place.query_one("#devices", SmokePicks).all_or_none()
        await there.press("up")
        assert "7 tests: NumPy on CPU." in there.text

    at(plain_host(), do, (140, 40))


def test_keys_toggle_one_and_all() -> None:
    async def do(there: There) -> None:
        await there.press("space", "down", "enter")
        assert there.picked("tests") == QUICK[2:]
        await there.press("a")
        assert there.picked("tests") == EVERY
        assert "Tests 13 of 13" in there.text
        await there.press("a")
        assert there.picked("tests") == ()
        assert "Select at least one test." in there.text

    at(plain_host(), do)


def test_the_arrows_lead_through_all_lists() -> None:
    async def do(there: There) -> None:
        await there.press("up")
        await there.place.query_one("#tests").focus().app.animator.wait_for_idle()
        await there.press("end", "down", "space")
        assert there.picked("backends") == ()
        await there.press("space", "down", "down", "down")
        assert there.app.focused is there.place.query_one("#devices")
        await there.press("a")
        assert there.picked("devices")[-1] == "cpu"
        await there.press("right", "right", "right")
        assert "Stress test ◂ 30 s ▸" in there.text
        await there.press("left", "left")
        assert "Stress test ◂ 5 s ▸" in there.text
        await there.press("up")
        assert there.app.focused is there.place.query_one("#dtypes")

    at(machine(count=2), do)


def test_the_mouse_toggles_and_steps() -> None:
    async def do(there: There) -> None:
        await there.click("#tests", row=8)
        await there.click("#dtypes", row=4)
        assert there.picked("tests") == (*QUICK, "peer")
        assert there.picked("dtypes") == ("fp32", "tf32", "fp16", "bf16")
        await there.click("StressSeconds", column=8)
        assert "30 s" in there.text
        await there.click("StressSeconds", column=0)
        assert "10 s" in there.text

    at(plain_host(), do)


def test_what_the_highlighted_test_shows_stands_beneath_in_full() -> None:
    async def do(there: There) -> None:
        await there.press("end")
        shown = str(there.place.query_one("#shows", Static).render())
        assert shown == "compare: GPU vs. CPU: matmul, training, inference, data loading."

    at(plain_host(), do, (80, 24))


def test_a_choice_that_cannot_be_run_starts_nothing() -> None:
    async def do(there: There) -> None:
        await there.press("a", "a", "s")
        assert there.runner.course is None
        assert any("Select at least one test." in note.message for note in there.app._notifications)

    at(plain_host(), do)


def test_while_the_machine_is_examined_nothing_starts() -> None:
    async def do(there: There) -> None:
        assert "The checks are running (0 of 0 probes finished). Tests can start after that." in there.text
        await there.press("s")
        await there.click("#go")
        assert there.runner.course is None

    at(None, do)


def test_facts_that_come_later_fill_the_lists() -> None:
    async def do(there: There) -> None:
        assert there.picked("devices") == ()
        await there.press("space")
        type(there.app).facts = machine(count=2)
        there.app.action_again()
        await there.press("down")
        assert len(there.picked("devices")) == 2
        assert there.picked("tests") == QUICK[1:]

    at(None, do)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_the_choice_at_each_size(size: tuple[int, int]) -> None:
    async def do(there: There) -> None:
        compare(there.app, "smoke-choice")

    at(change(machine(count=8), "smoke", Smoke()), do, size)


def test_without_colours_a_choice_is_told_by_its_mark() -> None:
    async def do(there: There) -> None:
        await there.press("space")
        rows = [row for row in there.rows if "matmul  " in row or "mnist  " in row]
        assert [row.strip()[0] for row in rows[:2]] == ["□", "■"]

    at(plain_host(), do, colour=False)


def test_on_a_narrow_screen_a_key_turns_from_the_choice_to_the_results() -> None:
    async def do(there: There) -> None:
        assert "Select tests and press s to start." not in there.text
        await there.press("v")
        assert "Select tests and press s to start." in there.text
        assert "Tests 7 of 13" not in there.text
        await there.press("v")
        assert there.app.focused is there.place.query_one("#tests")
        await there.pilot.resize_terminal(150, 40)
        await there.press("down")
        assert "Select tests and press s to start." in there.text
        assert "Tests 7 of 13" in there.text

    at(plain_host(), do, (80, 24))
