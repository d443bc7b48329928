"""Runs over many machines that are ended, killed, out of disk or seen on a terminal: processes of their own."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli import BARE, Ran
from tests.cli.conftest import Run
from tests.cli.fleets import reports, states
from tests.fleet.runner import local
from tests.standins import clean_up, left_running

ENV = BARE | {"PYTHONPATH": str(Path(local.__file__).parents[3])}
REAL = [sys.executable, local.__file__, "fleet", "run", "local"]


def started(tmp_path: Path, nodes: str) -> "subprocess.Popen[bytes]":
    """A run that has hung on its first node, and whose other ones have reported."""
    argv = [*REAL, nodes, "--output", str(tmp_path / "run")]
    env = ENV | {"MARK": str(tmp_path)}
    run = subprocess.Popen(
        argv, env=env, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    end = time.monotonic() + 30
    while not ((tmp_path / nodes.partition(",")[0]).exists() and states(tmp_path).get("a") == "reported"):
        assert time.monotonic() < end, "nobody reported"
        time.sleep(0.02)
    return run


def nothing_left(tmp_path: Path) -> None:
    end = time.monotonic() + 10
    while (left := left_running(str(tmp_path))) and time.monotonic() < end:
        time.sleep(0.05)
    clean_up(left)
    assert left == []


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_ends_the_run_its_nodes_and_leaves_a_ledger_to_go_on_with(
    tmp_path: Path, fleet: Run, name: str, code: int
) -> None:
    with started(tmp_path, "hang1,a,down1") as run:
        run.send_signal(getattr(signal, name))
        out, err = run.communicate(timeout=30)
    assert (run.returncode, out) == (code, b"")
    assert err.decode() == (
        f"gpudoctor: The run was interrupted. 1 of 3 nodes have reported, in {tmp_path}/run; "
        "run the same command to continue with the others.\n"
    )
    nothing_left(tmp_path)
    assert states(tmp_path) == {"hang1": "failed", "a": "reported", "down1": "not asked"}
    assert fleet("a,b").code == 3  # hang1 and down1 are still without
    assert reports(tmp_path) == {"a.json", "b.json"}


def test_a_second_signal_waits_for_nobody_and_the_ledger_is_complete(tmp_path: Path) -> None:
    with started(tmp_path, "deaf1,a") as run:
        for name in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):  # of a terminal that ends: one wish
            run.send_signal(name)
        time.sleep(1)
        assert run.poll() is None  # its engine has time to end what it started
        run.send_signal(signal.SIGINT)
        run.wait(10)
        clean_up(left_running(str(tmp_path)))
        _, err = run.communicate(timeout=30)
    assert run.returncode in (128 + signal.SIGHUP, 128 + signal.SIGTERM, 130)
    assert err.startswith(b"gpudoctor: The run was interrupted. 1 of 2 nodes have reported")
    assert states(tmp_path) == {"deaf1": "failed", "a": "reported"}


def test_a_run_that_was_killed_can_be_gone_on_with(tmp_path: Path, fleet: Run) -> None:
    with started(tmp_path, "hang1,a") as run:
        run.kill()
        clean_up(left_running(str(tmp_path)))  # this engine's nodes outlive it, and hold its streams open
        run.communicate(timeout=30)
    with (tmp_path / "run/ledger.jsonl").open("ab") as ledger:
        ledger.write(b'{"node":"hang1","sta')
    (tmp_path / "run/reports/b.json.77.part").write_text("{")
    assert fleet("a,b").code == 0
    assert states(tmp_path) == {"a": "reported", "b": "reported"}
    assert reports(tmp_path) == {"a.json", "b.json"}


def test_two_runs_at_once(tmp_path: Path, fleet: Run) -> None:
    with started(tmp_path, "hang1,a") as run:
        try:
            assert fleet("b").sentence == f"Another run is writing to {tmp_path}/run."
        finally:
            run.send_signal(signal.SIGINT)
            run.communicate(timeout=30)
    nothing_left(tmp_path)


def test_a_full_disk(tmp_path: Path) -> None:
    nodes = ",".join(f"n{number}" for number in range(30))  # a ledger of several blocks, reports of less than one
    line = f"ulimit -f 1; exec {' '.join(REAL)} {nodes} --output {tmp_path}/run"
    env = ENV | {"PYTHONDONTWRITEBYTECODE": "1"}  # Python 3.11 would leave a module's bytecode cut short
    ended = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=env, cwd="/", timeout=60)
    sentence = Ran(ended.returncode, ended.stdout, ended.stderr).sentence
    assert sentence.startswith(f"{tmp_path}/run/ledger.jsonl cannot be written: ")
    assert "; run the same command to continue with the others." in sentence
    kept = states(tmp_path)
    assert 0 < len(kept) < 30
    again = [*REAL, nodes, "--output", str(tmp_path / "run")]
    ended = subprocess.run(again, capture_output=True, text=True, env=ENV, timeout=60)
    assert ended.returncode == 0
    assert re.fullmatch(
        r"gpudoctor: \d+ nodes have already reported in .*/run; --rerun checks them again\."
        r"( Nothing was started; the summary below is of those reports\.)?\n",
        ended.stderr,
    )
    assert states(tmp_path) == dict.fromkeys(nodes.split(","), "reported")


def test_a_terminal_shows_how_it_stands_and_nothing_of_it_stays(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    argv = [*REAL, "hang1,a,b", "--output", str(tmp_path / "run")]
    with subprocess.Popen(
        argv, env=ENV | {"TERM": "xterm"}, cwd="/", stdout=subprocess.DEVNULL, stderr=theirs, start_new_session=True
    ) as run:
        os.close(theirs)
        reported = b""
        while b"2 of 3 nodes have reported, 1 running ..." not in reported:
            reported += os.read(ours, 4096)
        run.send_signal(signal.SIGINT)
        while b"The run was interrupted." not in reported:
            reported += os.read(ours, 4096)
        run.wait(30)
    os.close(ours)
    assert b"\r\x1b[Kgpudoctor: The run was interrupted." in reported
