"""The task that runs on a node of a Ray cluster: its output, its deadline, its environment, its end with the worker."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.workers import ray_task

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Ray's task asks Linux for its end")
SH = "/bin/sh"


def run(*argv: str, seconds: float = 20) -> tuple[bytes, dict[str, Any]]:
    """What the command wrote, and how it ended."""
    first, *pieces, last = ray_task.on_node(list(argv), seconds)
    assert first == b"", "the task says at once that it began"
    return b"".join(pieces), last


def test_what_the_command_writes_comes_back_and_how_it_ended() -> None:
    wrote, ended = run(SH, "-c", "echo one; echo two; echo wrong >&2; exit 3")
    assert wrote == b"one\ntwo\n"
    assert ended == {"code": 3, "late": False, "words": "wrong\n"}


def test_a_report_of_a_megabyte_comes_whole_in_small_pieces() -> None:
    code = "import sys; sys.stdout.write('0123456789' * 100_000)"
    _, *pieces, ended = ray_task.on_node([sys.executable, "-c", code], 20)
    assert b"".join(pieces) == b"0123456789" * 100_000
    assert max(map(len, pieces)) <= ray_task.PIECE
    assert ended["code"] == 0


def test_a_program_that_is_not_there_is_said() -> None:
    assert list(ray_task.on_node(["/nowhere/gpudoctor"], 5)) == [b"", {"missing": "No such file or directory"}]


def test_a_command_that_does_not_listen_is_killed_with_what_it_started() -> None:
    wrote, ended = run(SH, "-c", 'trap "" TERM; sleep 600 & echo $!; wait; wait', seconds=1)
    assert ended["late"]
    assert _gone(int(wrote))


def test_the_end_of_a_command_is_not_put_off_by_what_it_leaves_behind() -> None:
    wrote, ended = run(SH, "-c", "sleep 600 & echo $!")
    assert (ended["code"], ended["late"]) == (0, False)
    assert _gone(int(wrote)), "and what is left of its group is killed"


def test_the_variables_that_ray_sets_are_the_nodes_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("KEPT", "yes")
    argv = [sys.executable, "-c", "import time; time.sleep(60)"]
    env = {**os.environ, "OMP_NUM_THREADS": "7"}
    del env["CUDA_VISIBLE_DEVICES"]
    raylet = subprocess.Popen(argv, env=env)
    try:
        monkeypatch.setattr("gpudoctor.workers.ray_task.os.getppid", lambda: raylet.pid)
        _until(lambda: b"KEPT" in Path(f"/proc/{raylet.pid}/environ").read_bytes())
        found = ray_task.surroundings()
    finally:
        raylet.kill()
        raylet.wait()
    assert "CUDA_VISIBLE_DEVICES" not in found, "no GPU is hidden that the node shows"
    assert (found["OMP_NUM_THREADS"], found["KEPT"]) == ("7", "yes")


def test_where_the_raylet_cannot_be_read_what_ray_sets_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr("gpudoctor.workers.ray_task.os.getppid", lambda: 1 << 30)
    assert "CUDA_VISIBLE_DEVICES" not in ray_task.surroundings()


def test_the_command_dies_with_its_worker() -> None:
    """Ray kills a worker by SIGKILL, whose children nobody would end."""
    code = (
        "from gpudoctor.workers import ray_task\n"
        f"for piece in ray_task.on_node(['{SH}', '-c', 'sleep 600 & echo $!; wait'], 600):\n"
        "    print(piece.decode(), end='', flush=True)\n"
    )
    worker = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    pid = int(worker.stdout.readline())
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    worker.stdout.close()
    assert _gone(pid)


def _gone(pid: int) -> bool:
    """Whether a process is dead, or soon is."""

    def dead() -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            return True

    return _until(dead)


def _until(holds: Any, seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.05)
    return bool(holds())
