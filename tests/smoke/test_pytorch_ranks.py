"""The processes that sum together: their answers, their words where they fail, and that none is left behind."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpudoctor.workers.smoke.backends.pytorch import ranks as rank_processes
from gpudoctor.workers.smoke.backends.pytorch.ranks import Rank, allreduce, end, free_port, gathered
from gpudoctor.workers.smoke.runner import Hung, Stopped, Unsupported

ROOT = Path(__file__).resolve().parent.parent.parent
# What each script begins with: its task, and how to answer.
BEGIN = """
import json, os, signal, sys, time
task = json.loads(sys.argv[1])
def answer(**told): print("gpudoctor:" + json.dumps(told), flush=True)
"""
SUM = "answer(wrong=task['rank'], seconds=[0.1 * (task['rank'] + 1), 0.3 - 0.1 * task['rank']])\n"
Start = Callable[..., list[Rank]]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start ranks that run this script."""
    started: list[Rank] = []

    def make(script: str, count: int = 2) -> list[Rank]:
        path = tmp_path / "rank.py"
        path.write_text(BEGIN + script)
        monkeypatch.setattr(rank_processes, "SCRIPT", str(path))
        started.extend(Rank(number, count, "gloo", 4096, 12345) for number in range(count))
        return started

    yield make
    for rank in started:
        rank.process.kill()
        if rank.process.stdin:
            rank.process.stdin.close()
        rank.process.wait()


def words(ranks: list[Rank], seconds: float = 20.0) -> str:
    with pytest.raises(RuntimeError) as error:
        gathered(ranks, lambda: None, seconds)
    return str(error.value)


def test_all_answers_in_order(start: Start) -> None:
    ranks = start("time.sleep(0.2 * (1 - task['rank']))\nanswer(got=task)")
    found = [reported["got"] for reported in gathered(ranks, lambda: None)]
    assert [reported["rank"] for reported in found] == [0, 1]
    assert {name: found[0][name] for name in ("ranks", "library", "bytes", "port")} == {
        "ranks": 2,
        "library": "gloo",
        "bytes": 4096,
        "port": 12345,
    }
    assert found[0]["parent"] == os.getpid()


def test_an_error_is_told_with_what_nccl_warned_of(start: Start) -> None:
    ranks = start(
        "print('host:1:1 [0] NCCL WARN Error: network not found.')\n"
        "if task['rank']: time.sleep(60)\n"
        "answer(error='DistBackendError: NCCL error')"
    )
    assert words(ranks) == "rank 0: DistBackendError: NCCL error; host:1:1 [0] NCCL WARN Error: network not found."


def test_a_rank_that_dies(start: Start) -> None:
    ranks = start(
        "print('Fatal Python error: Segmentation fault', file=sys.stderr, flush=True)\n"
        "if task['rank']: os.kill(os.getpid(), signal.SIGSEGV)\n"
        "time.sleep(60)"
    )
    assert words(ranks) == "rank 1 died of signal 11; Fatal Python error: Segmentation fault"


def test_both_fail_and_both_are_heard(start: Start) -> None:
    ranks = start("sys.stderr.write('no torch here\\n')\nsys.exit(3 + task['rank'])")
    assert words(ranks) == "rank 0 ended with 3; no torch here | rank 1 ended with 4; no torch here"


def test_a_rank_that_ends_without_a_word(start: Start) -> None:
    assert words(start("os._exit(0)", count=1)) == "rank 0 ended with 0"


def test_ranks_that_do_not_end(start: Start) -> None:
    ranks = start("print('NCCL WARN waits', flush=True)\ntime.sleep(60)", count=1)
    while not ranks[0].lines:
        time.sleep(0.01)
    assert words(ranks, 0.1) == "all-reduce did not finish within 0.1 seconds: rank 0 sent nothing; NCCL WARN waits"


# Each rank tells the stages up to its own, and waits there.
STAGED = """
for stage in ("import", "join", "step")[:3 - task["rank"] % 2]: answer(stage=stage)
"""


def staged(ranks: list[Rank]) -> list[Rank]:
    while any(rank.stage != ("join" if rank.number % 2 else "step") for rank in ranks):
        time.sleep(0.01)
    return ranks


def test_a_hang_names_who_did_not_arrive(start: Start) -> None:
    ranks = staged(start(STAGED + "time.sleep(60)", count=4))
    with pytest.raises(Hung) as error:
        gathered(ranks, lambda: None, 0.1, "data-parallel training")
    assert str(error.value) == (
        "data-parallel training did not finish within 0.1 seconds; rank 1, rank 3 did not arrive in stage step: "
        "rank 0 sent nothing since stage step | rank 1 sent nothing since stage join | "
        "rank 2 sent nothing since stage step | rank 3 sent nothing since stage join"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says so")
def test_a_process_that_is_stopped_did_not_arrive(start: Start) -> None:
    ranks = start("answer(stage='all-reduce')\nif task['rank']: os.kill(os.getpid(), signal.SIGSTOP)\ntime.sleep(60)")
    while ranks[1].state != "T" or not all(rank.stage for rank in ranks):
        time.sleep(0.01)
    with pytest.raises(Hung) as error:
        gathered(ranks, lambda: None, 0.1)
    assert str(error.value) == (
        "all-reduce did not finish within 0.1 seconds; rank 1 did not arrive in stage all-reduce: "
        "rank 0 sent nothing since stage all-reduce | rank 1 sent nothing and is stopped since stage all-reduce"
    )
    end(ranks)
    assert ranks[1].process.returncode == -signal.SIGKILL


def test_who_waited_in_vain_for_another_hung(start: Start) -> None:
    script = "if task['rank']: time.sleep(60)\nanswer(error='DistBackendError: wait timeout after 30000ms')"
    with pytest.raises(Hung, match=r"^all-reduce did not finish; rank 1 did not arrive in stage step: rank 0: Dist"):
        gathered(staged(start(STAGED + script)), lambda: None)


def test_an_error_is_no_hang_though_another_is_behind(start: Start) -> None:
    script = "if task['rank']: time.sleep(60)\nanswer(error='CUDA out of memory')"
    with pytest.raises(RuntimeError, match=r"^rank 0: CUDA out of memory$") as error:
        gathered(staged(start(STAGED + script)), lambda: None)
    assert not isinstance(error.value, Hung)


def test_of_a_rank_that_is_killed_the_others_are_not_blamed(start: Start) -> None:
    script = "if task['rank']: os.kill(os.getpid(), signal.SIGKILL)\ntime.sleep(60)"
    assert words(start(STAGED + script)) == "rank 1 died of signal 9"


def test_much_output_is_bounded(start: Start) -> None:
    ranks = start("for at in range(20000): print('x' * 80, at)\nanswer(wrong=0)", count=1)
    gathered(ranks, lambda: None)
    assert len(ranks[0].lines) <= rank_processes.KEPT


def test_who_is_asked_to_stop_stops_while_they_run(start: Start) -> None:
    def asked() -> None:
        raise Stopped

    with pytest.raises(Stopped):
        gathered(start("time.sleep(60)"), asked)


def test_ranks_go_once_all_have_answered(start: Start) -> None:
    ranks = start("answer(wrong=0)\nsys.stdin.read()\nos._exit(7)")
    gathered(ranks, lambda: None)
    assert [rank.process.poll() for rank in ranks] == [None, None]
    end(ranks)
    assert [rank.process.returncode for rank in ranks] == [7, 7]


def test_none_is_left_even_where_it_ignores_sigterm(start: Start) -> None:
    ranks = start(
        "if task['rank']: signal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('up', flush=True)\ntime.sleep(60)"
    )
    while not all(rank.lines for rank in ranks):
        time.sleep(0.01)
    end(ranks)
    assert [rank.process.returncode for rank in ranks] == [-signal.SIGTERM, -signal.SIGKILL]


@pytest.mark.parametrize(
    ("user", "seen"), [({}, ("lo", "WARN")), ({"NCCL_SOCKET_IFNAME": "eth1", "NCCL_DEBUG": "INFO"}, ("eth1", "INFO"))]
)
def test_nothing_leaves_the_machine_unless_the_user_says_so(
    start: Start, user: dict[str, str], seen: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NCCL_SOCKET_IFNAME", "NCCL_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in user.items():
        monkeypatch.setenv(name, value)
    ranks = start("answer(seen=[os.environ['NCCL_SOCKET_IFNAME'], os.environ['NCCL_DEBUG']])", count=1)
    assert gathered(ranks, lambda: None) == [{"seen": list(seen)}]


def test_a_port_that_is_free() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", free_port()))


# -- the sum as a whole -------------------------------------------------------------------------------------------


def backend(kind: str = "cpu", available: bool = True, peers: int = 3) -> Any:
    distributed = SimpleNamespace(is_available=lambda: available, is_nccl_available=lambda: available)
    return SimpleNamespace(
        kind=kind,
        torch=SimpleNamespace(distributed=distributed),
        peers=lambda: peers,
        release=lambda: None,
        task={"numbers": ("0", "2", "5")} if kind != "cpu" else {},
    )


@pytest.mark.parametrize(("kind", "ranks", "transport"), [("cpu", 2, "gloo"), ("cuda", 3, "nccl"), ("rocm", 3, "rccl")])
def test_the_slowest_rank_of_each_sum_counts(start: Start, kind: str, ranks: int, transport: str) -> None:
    start(SUM, count=0)
    found = allreduce(backend(kind), 8 << 20, lambda: None)
    assert found.pop("seconds") == pytest.approx([0.1 * ranks, 0.3])
    assert found == {"ranks": ranks, "transport": transport, "wrong": sum(range(ranks)), "bytes": 8 << 20}


def test_a_rank_is_named_with_its_gpu_and_who_died_comes_first(start: Start) -> None:
    start("if task['rank'] == 1: os._exit(3)\nanswer(error='Connection reset by peer')", count=0)
    with pytest.raises(RuntimeError, match=r"^rank 1 \(GPU 2\) ended with 3 \| rank 0 \(GPU 0\): Connection reset"):
        allreduce(backend("cuda"), 4096, lambda: None)


@pytest.mark.parametrize(("kind", "library"), [("cpu", "GLOO"), ("cuda", "NCCL")])
def test_a_build_without_the_library(kind: str, library: str) -> None:
    with pytest.raises(Unsupported, match=f"This build of PyTorch has no {library}."):
        allreduce(backend(kind, available=False), 4096, lambda: None)


# Rank 1 leaves its process id and waits; once it is there, rank 0 ends.
WAITS = """
place = sys.argv[0] + ".pid"
if task["rank"]:
    with open(place + ".new", "w") as file:
        file.write(str(os.getpid()))
    os.rename(place + ".new", place)
    time.sleep(60)
while not os.path.exists(place):
    time.sleep(0.01)
"""


def test_an_error_ends_the_others(start: Start) -> None:
    start(WAITS, count=0)
    with pytest.raises(RuntimeError, match="rank 0 ended with 0"):
        allreduce(backend(), 4096, lambda: None)
    assert not alive(int(Path(rank_processes.SCRIPT + ".pid").read_text()))


# -- what a rank does by itself -----------------------------------------------------------------------------------

BOUND = f"""
import os, sys, time
sys.path.insert(0, {str(ROOT)!r})
from gpudoctor.workers.smoke.backends.pytorch.rank import die_with
die_with(int(sys.argv[1]))
print(os.getpid(), flush=True)
time.sleep(60)
"""
STARTER = f"""
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", {BOUND!r}, str(os.getpid())])
time.sleep(60)
"""


def alive(pid: int) -> bool:
    """Whether a process runs; one that is dead but not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux's kernel ends children with their parents")
def test_a_rank_dies_with_the_one_who_started_it() -> None:
    with subprocess.Popen([sys.executable, "-c", STARTER], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        rank = int(parent.stdout.readline())
        assert alive(rank)
        parent.kill()
    until = time.monotonic() + 10
    while alive(rank) and time.monotonic() < until:
        time.sleep(0.01)
    assert not alive(rank)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux's kernel ends children with their parents")
def test_a_rank_whose_starter_is_gone_already_ends_at_once() -> None:
    done = subprocess.run([sys.executable, "-c", BOUND, "-1"], capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stdout) == (1, "")
