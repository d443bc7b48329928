"""`fleet run` killed at each of its steps on disk, one after another: the same command goes on, and loses nothing."""

import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event

import pytest

from gpudoctor.cli import main
from gpudoctor.fleet.runner import engines, protocol
from gpudoctor.fleet.runner.engine import FleetTarget, NodeJob, NodeLine, Tell
from tests.cli.conftest import Run
from tests.cli.fleets import reports, states
from tests.fleet.runner.local import REPORT, Local

NODES = ("a", "b", "c")
STEPS = {"open", "os.mkdir", "os.rename", "os.remove", "os.truncate"}  # audit events of the interpreter


class Here(Local):
    """Its nodes report without a process of their own."""

    def run(self, targets: Sequence[FleetTarget], job: NodeJob, tell: Tell, stop: Event) -> None:
        for target in targets:
            for line in (protocol.hello(target.node), *protocol.lines(target.node, json.dumps(REPORT).encode())):
                tell(NodeLine(target.node, line))


def killing(at: int, folder: str) -> Callable[[str, tuple[object, ...]], None]:
    """What ends this process by SIGKILL at its n-th step in a folder, before the step is done."""
    count = 0

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal count
        if event in STEPS and any(folder in str(one) for one in arguments[:2]):
            count += 1
            if count == at:
                os.kill(os.getpid(), signal.SIGKILL)

    return hook


def killed(at: int, folder: Path) -> bool:
    """Whether a run in a child of ours was killed at that step; else it has ended before."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            with open(os.devnull, "w") as nowhere:
                sys.stdout = sys.stderr = nowhere
                sys.addaudithook(killing(at, str(folder)))
                code = main(("fleet", "run", "local", ",".join(NODES), "--output", str(folder)))
        finally:
            os._exit(code)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert ended in (-signal.SIGKILL, 0), ended
    return ended != 0


def test_a_run_that_is_killed_at_any_step_is_gone_on_with(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(engines.ENGINES, "local", ("local", "Local"))
    monkeypatch.setattr(engines, "engine", lambda name, **options: Here())
    folder, at = tmp_path / "run", 1
    while killed(at, folder):
        ran = run("fleet", "run", "local", ",".join(NODES), "--output", str(folder))
        assert ran.code == 0, at
        assert re.fullmatch(
            r"(gpudoctor: \d+ nodes? ha\w+ already reported in .*; --rerun checks them again\..*\n)?", ran.err
        )
        assert states(tmp_path) == dict.fromkeys(NODES, "reported"), at
        assert reports(tmp_path) == {f"{node}.json" for node in NODES}, at
        for node in NODES:
            assert json.loads((folder / "reports" / f"{node}.json").read_text())["status"] == "pass"
        assert [one.name for one in folder.rglob("*.part")] == [], at
        shutil.rmtree(folder)
        at += 1
    assert at > 10
