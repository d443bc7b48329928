"""A fix run from the application in a real terminal: shown, asked, run, checked again, and undone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.test_terminal import OPENED, _left, _open
from tests.real.tmux import Terminal, coverage, needs_tmux

pytestmark = needs_tmux
CHECK = """
import os
from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.targets import machine
from gpudoctor.tasks import cmd

@check(title="There is no flag", severity=Severity.ERROR, cause="Nobody has made it.", targets=machine,
       references=("https://example.org/",), fixes=(
           Fix("Make the flag.", (cmd("touch", "{flag}"),), undo=(cmd("rm", "{flag}"),)),
           Fix("Wait until it is interrupted.", (cmd("sleep", "300"),)),
       ))
def no_flag(facts):
    return None if os.path.exists("{flag}") else "The flag is not there."
"""
ASKED, BACK = "Run these commands now? [y/N]", "Press Enter to return"


@pytest.fixture
def flag(tmp_path: Path) -> Path:
    """The file without which the check fails."""
    package, info = tmp_path / "lib" / "plugins" / "acme", tmp_path / "lib" / "acme-1.0.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    (package / "no_flag.py").write_text(CHECK.replace("{flag}", str(tmp_path / "flag")))
    (info / "entry_points.txt").write_text("[gpudoctor.checks]\nno_flag = plugins.acme.no_flag:no_flag\n")
    return tmp_path / "flag"


@pytest.fixture
def terminal(tmp_path: Path, flag: Path) -> Iterator[Terminal]:
    """A small terminal in which the check fails."""
    env = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(flag.parent / "lib"),
        **coverage(),
    }
    made = Terminal(tmp_path, 80, 24, env)
    _open(made, "--quick")
    made.shows("There is no flag", 60)
    made.shows("probes finished", 60)
    made.shows("▶ 1        touch")
    yield made
    made.close()


def test_a_fix_is_shown_asked_run_checked_and_undone(terminal: Terminal, flag: Path) -> None:
    assert "R Run fix" in terminal.screen
    terminal.type("R")
    terminal.shows(ASKED, 60)
    assert terminal.ask("alternate_on") == "0"
    assert f"touch {flag}" in terminal.screen.replace("\n", "")
    terminal.type("n", "Enter")
    terminal.shows(BACK)
    assert not flag.exists()
    terminal.type("Enter")
    terminal.shows(OPENED)
    terminal.shows("Nothing was run.")
    terminal.type("R")
    terminal.shows(ASKED, 60)
    terminal.type("y", "Enter")
    terminal.shows("Fixed: acme.no-flag passes.", 60)
    assert flag.exists()
    terminal.type("Enter")
    terminal.shows(OPENED)
    terminal.shows("✓ fixed", 60)
    terminal.shows("U undoes the")
    terminal.type("U")
    terminal.shows("Undo it now? [y/N]", 60)
    terminal.type("y", "Enter")
    terminal.shows("Undone.")
    assert not flag.exists()
    terminal.type("Enter")
    terminal.until(
        lambda: "✓ fixed" not in terminal.screen and "▶ 1        touch" in terminal.screen, "the finding", 60
    )
    terminal.type("q")
    _left(terminal, 0)


def test_ctrl_c_ends_the_fix_and_not_the_application(terminal: Terminal, flag: Path) -> None:
    terminal.type("Tab", "Down")
    terminal.shows("▶ 1        sleep 300")
    terminal.type("C-p")
    terminal.type("run fix")
    terminal.shows("shows the commands and asks first")  # what was found is there: before that Enter chooses nothing
    terminal.type("Enter")
    terminal.shows(ASKED, 60)
    terminal.type("y", "Enter")
    terminal.shows("$ sleep 300")
    terminal.type("C-c")
    terminal.shows(BACK)
    terminal.type("Enter")
    terminal.shows("not fixed", 60)
    assert not flag.exists()
    terminal.type("q")
    _left(terminal, 0)
