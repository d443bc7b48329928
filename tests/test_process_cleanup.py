"""What is undone at the end: in order, once, whatever else arrives meanwhile."""

import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor import process_cleanup

SETUP = """
import os, signal, sys, threading, time
from gpudoctor import process_cleanup
def say(text): os.write(1, text.encode() + b" ")
process_cleanup.end_on_signals()
"""


def ended(code: str) -> tuple[int, str, str]:
    run = subprocess.run([sys.executable, "-c", SETUP + code], capture_output=True, text=True, timeout=60)
    return run.returncode, run.stdout, run.stderr


def test_what_came_last_goes_first_and_children_before_all() -> None:
    code = (
        "for name in 'abc': process_cleanup.at_end(lambda name=name: say(name))\n"
        "process_cleanup.at_end(lambda: say('first'), first=True)"
    )
    assert ended(code) == (0, "first c b a ", "")


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_signals_within_the_handler_are_of_no_consequence(name: str, code: int) -> None:
    storm = """
def storm():
    say("storm")
    for _ in range(3000):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP): os.kill(os.getpid(), number)
process_cleanup.at_end(lambda: say("last"))
process_cleanup.at_end(storm)
process_cleanup.at_end(lambda: 1 / 0)
"""
    assert ended(f"{storm}\nos.kill(os.getpid(), signal.{name})\nsay('never')") == (code, "storm last ", "")


def test_a_signal_while_the_end_in_order_is_under_way() -> None:
    code = (
        "process_cleanup.at_end(lambda: say('undone'))\n"
        "process_cleanup.at_end(lambda: os.kill(os.getpid(), signal.SIGTERM))"
    )
    assert ended(code) == (143, "undone ", "")


def test_signals_that_were_ignored_stay_so() -> None:
    code = (
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "process_cleanup.end_on_signals()\nos.kill(os.getpid(), signal.SIGHUP)\n"
    )
    assert ended(code + "say(str(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN))") == (0, "True ", "")


def test_a_forked_child_undoes_nothing_of_its_parent_s() -> None:
    code = """
process_cleanup.at_end(lambda: say("undone"))
pid = os.fork()
if pid == 0:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)
say(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))
"""
    assert ended(code) == (0, "143 undone ", "")


def test_what_a_thread_makes_meanwhile_is_undone_too(tmp_path: Path) -> None:
    """The thread is between making and telling how it is undone when the signal comes; later it makes nothing."""
    code = f"""
made = {str(tmp_path / "made")!r}
def make():
    os.mkdir(made)
    begun.set()
    time.sleep(0.1)
    return made
def work():
    with process_cleanup.undone(make, os.rmdir): time.sleep(60)
begun = threading.Event()
threading.Thread(target=work, daemon=True).start()
begun.wait()
os.kill(os.getpid(), signal.SIGTERM)
"""
    assert ended(code) == (143, "", "")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_made_once_the_end_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_cleanup, "_over", [True])
    with pytest.raises(InterruptedError), process_cleanup.undone(lambda: 1 / 0, lambda _: None):
        pass


def test_what_is_undone_in_order_is_not_undone_again() -> None:
    assert ended("with process_cleanup.undone(lambda: 'it', say): say('within')") == (0, "within it ", "")
