"""How a script's lines are gathered, and what is said where it does not end well."""

import sys
from pathlib import Path

import msgspec
import pytest

from gpudoctor.child import ChildResult
from gpudoctor.machine import Machine
from gpudoctor.probes.staged_child import StagedOutput, ask, patience
from gpudoctor.recorded_machine import RecordedMachine

PYTHON = Path(sys.executable).name


def reported(ended: str | ChildResult) -> StagedOutput:
    return ask(RecordedMachine(commands={PYTHON: ended}), "cuda_driver.py", row="device", seconds=8)


def test_lines_of_one_device_are_joined_and_put_in_order() -> None:
    answer = reported(
        '{"device": {"index": 1, "a": 1}}\n{"device": {"index": 0}}\n{"device": {"index": 1, "b": 2}}\n{"x": 3}'
    )
    assert answer.rows == ({"index": 0}, {"index": 1, "a": 1, "b": 2})
    assert answer.said == {"x": 3}


@pytest.mark.parametrize("noise", ["", "warning: noise", '{"code": 0, "na', "[1]", '{"device": 5}', '{"device": {}}'])
def test_what_is_no_fact_is_passed_over(noise: str) -> None:
    answer = reported(f'{{"code": 9}}\n{noise}\n')
    assert (answer.said, answer.rows) == ({"code": 9}, ())


@pytest.mark.parametrize(
    ("ended", "hung", "died", "why"),
    [
        (ChildResult(argv=(), timed_out=True, signal="SIGTERM"), "init", None, "no response in stage init within 8 s"),
        (
            ChildResult(argv=(), timed_out=True, abandoned=True),
            "init",
            None,
            "no response in stage init within 8 s, and the child process cannot be killed",
        ),
        (ChildResult(argv=(), signal="SIGBUS"), None, "SIGBUS", "the child process was killed by SIGBUS in stage init"),
        (ChildResult(argv=(), cancelled=True, signal="SIGTERM"), None, None, "the run was canceled"),
        (ChildResult(argv=(), missing="Permission denied"), None, None, "it was not run: Permission denied"),
        (
            ChildResult(argv=(), code=1, err="a\nb\n\n"),
            None,
            None,
            "the child process exited in stage init with code 1: b",
        ),
        (ChildResult(argv=(), code=1), None, None, "the child process exited in stage init with code 1"),
    ],
)
def test_every_end_has_its_words(ended: ChildResult, hung: str | None, died: str | None, why: str) -> None:
    answer = reported(msgspec.structs.replace(ended, out='{"stage": "init"}\n'))
    assert (answer.hung, answer.died, answer.why) == (hung, died, why)


def test_a_child_that_had_too_little_time_is_not_called_hung() -> None:
    class Late(RecordedMachine):
        def left(self, most: float) -> float:
            return min(most, 0.1)

    machine = Late(commands={PYTHON: ChildResult(argv=(), timed_out=True, out='{"stage": "init"}\n')})
    answer = ask(machine, "cuda_driver.py", row="device", seconds=8)
    assert (answer.hung, answer.why) == (
        None,
        "no response in stage init within 0.1 s, all the time that was left",
    )


@pytest.mark.parametrize(("gpus", "seconds"), [(0, 8), (1, 8), (8, 22)])
def test_more_gpus_get_more_time(gpus: int, seconds: float) -> None:
    folders = [f"/proc/driver/nvidia/gpus/0000:{bus:02x}:00.0" for bus in range(gpus)]
    assert patience(RecordedMachine(folders=folders)) == seconds


def test_a_script_runs_isolated_from_the_examined_environment(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')")
    machine = Machine(env={"PYTHONPATH": str(tmp_path), "LD_LIBRARY_PATH": str(tmp_path)})
    (tmp_path / "libcuda.so.1").touch()
    answer = ask(machine, "cuda_driver.py", row="device", seconds=8)
    assert answer.said["not_loaded"] == f"{tmp_path}/libcuda.so.1: file too short"
