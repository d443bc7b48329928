"""The simulation of a large fleet: every node is accounted for, and each limit holds."""

import runpy
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "fleet_simulation.py"
THERE: dict[str, Any] = runpy.run_path(str(SCRIPT))
SETTINGS = {one.name: one for one in THERE["SETTINGS"]}
NODES = 2000


def run(seed: int = 1, nodes: int = NODES, **how: Any) -> Any:
    return THERE["simulated"](THERE["Setting"]("s", **how), nodes, seed)


@pytest.mark.parametrize("name", SETTINGS)
def test_each_node_is_accounted_for(name: str) -> None:
    one = THERE["simulated"](SETTINGS[name], NODES, 1)
    assert sum(one.states.values()) == NODES
    assert one == THERE["simulated"](SETTINGS[name], NODES, 1), "the same seed, the same result"
    assert one.peak_jobs <= SETTINGS[name].remembered
    assert one.operations == 5 * one.states["reported"]


def test_more_threads_are_faster_until_the_controller_remembers_no_more_jobs() -> None:
    slow, fast = run(jobs=32), run(jobs=128)
    assert slow.verdict > 2 * fast.verdict
    assert run(jobs=128, remembered=200).verdict > fast.verdict
    assert run(jobs=128, remembered=200).first == "MaxJobCount"


def test_busy_nodes_hold_threads_for_as_long_as_they_are_waited_for() -> None:
    patient, hasty = run(busy=0.8), run(busy=0.8, patience=2.0)
    assert patient.first == "busy nodes (--queue-timeout)"
    assert patient.verdict > 5 * hasty.verdict
    assert patient.states["reported"] == hasty.states["reported"]


def test_timers_that_are_spread_do_not_overload_the_shared_directory() -> None:
    burst, spread = run(jobs=0, spread=0.0, nodes=50_000), run(jobs=0, spread=300.0, nodes=50_000)
    assert burst.files == 5000 > spread.files
    assert (burst.first, spread.first) == ("the shared directory", "the timers")


def test_the_table_has_a_row_for_each_setting() -> None:
    table = list(THERE["lines"](NODES, 1))
    assert len(table) == 2 + len(SETTINGS)
    assert {line.count("|") for line in table} == {7}
