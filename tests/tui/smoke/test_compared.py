"""The comparison of the GPU with the CPU on the screen of the smoke tests: bars, tables and sentences."""

import msgspec
import pytest

from gpudoctor.facts import During, Facts, Smoke, SmokeRun, SmokeTest
from gpudoctor.report.cpu_gpu import comparisons
from gpudoctor.tui.smoke.compared import compared
from gpudoctor.tui.smoke.lines import with_comparisons
from tests.builders import change
from tests.checks import smoke_machines as m
from tests.report.test_cpu_gpu import WHOLE
from tests.tui.screens import compare
from tests.tui.smoke.kit import There, recorded


def facts() -> Facts:
    """A recorded machine with both halves."""
    runs = []
    for entry in WHOLE:
        tests = tuple(
            SmokeTest(
                name=test.test,
                variant=test.variant,
                outcome="done",
                seconds=test.seconds,
                figures=tuple(m.done("", "", {one.name: one.value}).figures[0] for one in test.figures),
                notes=test.notes,
                during=m.seen(m.H100) if entry.kind == "cuda" else During(),
            )
            for test in entry.tests
        )
        runs.append(
            SmokeRun(
                backend="pytorch",
                kind=entry.kind,
                python=m.PYTHON,
                version="2.9.1",
                label=entry.device,
                name=m.H100.name if entry.kind == "cuda" else "AMD EPYC 9554",
                gpu="0000:01:00.0" if entry.kind == "cuda" else None,
                others=0,
                utilization=0,
                stage="done",
                outcome="done",
                tests=tests,
            )
        )
    return change(m.machine(), "smoke", Smoke(runs=tuple(runs), price=2.5))


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_bars_for_each_size(size: tuple[int, int]) -> None:
    async def do(there: There) -> None:
        compare(there.app, "smoke-compared")
        assert "Matmul N x N, fp32" in there.text
        assert "TFLOP/s (log), bars in this order: ■ CPU ■ GPU ■ GPU with copies" in there.text

    recorded(facts(), do, size)


def test_the_sentences_are_reached_by_scrolling() -> None:
    async def do(there: There) -> None:
        there.place.query_one("#smoke-results").focus()
        await there.press("end")
        assert "At $2.50 per hour a dollar buys" in there.text
        await there.pilot.resize_terminal(200, 60)
        await there.until(lambda: there.app.size.width == 200)
        assert "At $2.50 per hour a dollar buys" in there.text

    recorded(facts(), do)


def drawn(width: int) -> list[str]:
    (one,) = comparisons(WHOLE, 2.5)
    return ["".join(text for text, _ in line).rstrip() for line in compared(one, width)]


def test_the_higher_bar_is_the_faster_device() -> None:
    lines = drawn(78)
    at = next(place for place, line in enumerate(lines) if line.startswith("       N 64"))
    rows = lines[at - 7 : at]
    columns = {name: lines[at].index(name) for name in ("64", "4,096")}

    def height(column: int) -> int:
        return sum(row.ljust(80)[column] != " " for row in rows)

    small, large = ([height(columns[name] + 2 * place) for place in range(3)] for name in ("64", "4,096"))
    assert small[0] >= small[1] > small[2]  # the CPU, the GPU, the GPU with copies
    assert large[1] > large[2] > large[0]


@pytest.mark.parametrize("width", [20, 30, 78, 118])
def test_where_there_is_no_room_for_bars_there_are_none(width: int) -> None:
    lines = drawn(width)
    bars = [line for line in lines if "█" in line]
    assert bool(bars) == (width >= 30)
    assert all(len(line) <= width for line in bars)


def test_while_tests_run_a_gpu_that_was_not_reached_is_not_missing() -> None:
    cpu, gpu = WHOLE
    assert with_comparisons([cpu], running=True) == [cpu]
    (only,) = with_comparisons([cpu], running=False)
    assert only != cpu
    assert [type(one).__name__ for one in with_comparisons([cpu, gpu], running=True)] == ["CpuGpuEntry"]
    other = msgspec.structs.replace(cpu, tests=())
    assert with_comparisons([other], running=False) == [other]
