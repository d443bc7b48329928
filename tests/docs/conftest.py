"""A machine and a directory in which what the documentation shows can be run."""

import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpudoctor import Facts, check, demo, pipeline
from gpudoctor.report.renderers.json import render
from tests.machines.registry import machines

TRACEBACK = """Traceback (most recent call last):
  File "train.py", line 3, in <module>
    torch.ones(1).cuda()
RuntimeError: No CUDA GPUs are available
"""


@pytest.fixture
def recorded(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This machine is a recorded one, and the working directory has the files that the pages name.

    As a parameter it takes a machine of tests/machines by its name; without one, it is the demo "mismatch".
    """
    name = getattr(request, "param", None)
    facts = next(one for one in machines() if one.name == name).make() if name else demo.load("mismatch")

    def gather_events(*_: Any) -> Generator[Any, None, Facts]:
        yield from ()
        return facts

    def no_smoke(_machine: Any, found: Facts, _choice: Any) -> Generator[Any, None, Facts]:
        yield from ()
        return found

    monkeypatch.setattr(pipeline, "gather_events", gather_events)
    monkeypatch.setattr(pipeline, "_smoke", no_smoke)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    for file, shown in (("host", "mismatch"), ("good", "bad-link"), ("bad", "cpu-wheel")):
        (tmp_path / f"{file}.json").write_bytes(msgspec.json.encode(demo.load(shown)))
    (tmp_path / "node.toml").write_text('[expect."gpus"]\ncount = 1\n')
    (tmp_path / "train.log").write_text(TRACEBACK)
    (tmp_path / "project/.venv/bin").mkdir(parents=True)
    (tmp_path / "project/.venv/bin/python").symlink_to(sys.executable)
    for folder in ("monday", "today"):
        (tmp_path / folder).mkdir()
        for node in ("gpu01", "gpu02"):
            (tmp_path / folder / f"{node}.json").write_text(render(check(facts=facts)))
    return tmp_path
