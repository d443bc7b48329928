"""The application on a fleet in a real terminal: opened, walked through with keys, resized, left."""

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.fleet.aggregate.reports import finding, lay, report
from tests.real.tmux import Terminal, coverage, needs_tmux

pytestmark = needs_tmux
ILL = (17, 400, 1999)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """A terminal of 100 columns, in a folder with the reports of 2,000 nodes of which three are ill."""
    well, ill = report(), report(status="fail", findings=[finding(status="fail", fix="Reseat it.")])
    lay(tmp_path / "run" / "reports", {f"node{at:04d}": ill if at in ILL else well for at in range(1, 2001)})
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8", **coverage()}
    made = Terminal(tmp_path, 100, 30, env)
    made.type(f"clear; {sys.executable} -m gpudoctor --fleet {tmp_path}/run; echo left $?", "Enter")
    yield made
    made.close()


def test_a_fleet_is_read_walked_through_and_left(terminal: Terminal, tmp_path: Path) -> None:
    terminal.shows("2,000 nodes   F 3 fail   · 1,997 pass")
    terminal.shows("node[0017,0400,1999]")
    terminal.type("N")  # the last of them, far down in the grid
    terminal.shows("node       node1999")
    terminal.type("Enter")
    terminal.shows("node1999  FAIL")
    terminal.type("Escape")
    terminal.shows("2,000 nodes")
    terminal.call("resize-window", "-x", "160", "-y", "50")
    terminal.until(lambda: "^p Palette" in terminal.screen.split("\n")[49], "a footer in the last row")
    assert "node       node1999" in terminal.screen
    worse = tmp_path / "run" / "reports" / "node0001.json"
    worse.write_bytes(msgspec.json.encode(report(status="warn", created="2026-11-22T00:00:00Z")))
    terminal.type("r")
    terminal.shows("F 3 fail   W 1 warn   · 1,996 pass")
    terminal.type("q")
    terminal.shows("left 0")
    assert [terminal.ask(name) for name in ("alternate_on", "mouse_any_flag", "cursor_flag")] == ["0", "0", "1"]


def test_it_is_left_while_it_reads(terminal: Terminal) -> None:
    terminal.shows("6 Fleet")
    terminal.type("C-c")
    terminal.shows("left 0")
