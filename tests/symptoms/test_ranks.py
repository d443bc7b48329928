"""The logs of a job's ranks, read together: who failed first, who waited, who is behind or silent."""

import json
import pickle
from pathlib import Path

import pytest

from gpudoctor.symptoms import flight_recorder, scan
from gpudoctor.symptoms.ranks import decisive, entries, ranked, sentence
from tests.symptoms.samples import trace

WAITED = (
    "[rank{rank}]:[E1120 12:10:0{rank}.5 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation "
    "timeout: WorkNCCL(SeqNum=8, OpType=ALLREDUCE) ran for 600000 milliseconds before timing out.\n"
    "[rank{rank}]: last enqueued work: {enqueued}, last completed work: 7\n"
)
OOM = "2026-11-20 12:00:0{rank}.1 step 7\n" + trace(
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB"
)
QUIET = "step 1\nstep 2\n"


def waited(rank: int, enqueued: int = 8) -> str:
    return WAITED.format(rank=rank, enqueued=enqueued)


def roles(*logs: str, name: str = "run/rank_{}.log") -> list[tuple[int | None, str]]:
    read = ranked([(name.format(number), scan([text.encode()])) for number, text in enumerate(logs)])
    return [(one.rank, one.role) for one in entries(read)]


@pytest.mark.parametrize(
    ("logs", "expected"),
    [
        ((waited(0), OOM.format(rank=1), waited(2)), [(1, "first"), (0, "waited"), (2, "waited")]),
        ((waited(0), QUIET, waited(2)), [(1, "silent"), (0, "waited"), (2, "waited")]),
        ((waited(0), waited(1, 7), waited(2)), [(1, "behind"), (0, "waited"), (2, "waited")]),
        ((QUIET, QUIET), [(0, "ok"), (1, "ok")]),
        (
            ("2026-11-20 12:00:09 CUDA error: out of memory\n", "2026-11-20 12:00:01 CUDA error: out of memory\n"),
            [(1, "first"), (0, "failed")],
        ),
    ],
)
def test_what_became_of_each_rank(logs: tuple[str, ...], expected: list[tuple[int, str]]) -> None:
    assert roles(*logs) == expected


@pytest.mark.parametrize(
    "name", ["attempt_0/{}/stderr.log", "job-12_{}.out", "rank{}.txt", "logs/worker-{}.log", "train.{}.err"]
)
def test_the_rank_is_in_the_name_of_the_file(name: str) -> None:
    assert [rank for rank, _ in roles(QUIET, QUIET, QUIET, name=name)] == [0, 1, 2]


def test_the_log_of_the_first_to_fail_decides() -> None:
    read = ranked([(f"{n}.log", scan([text.encode()])) for n, text in enumerate((waited(0), OOM.format(rank=1)))])
    found = entries(read)
    assert decisive(read, found) is read[1].log
    assert sentence(found) == ("Rank 1 failed first; rank 0 waited for it.",)


def entry(number: int, name: str = "nccl:all_reduce", sizes: str = "[[4]]", line: int = 7) -> dict[str, object]:
    frames = [
        {"name": "all_reduce", "filename": "/x/torch/distributed/distributed_c10d.py", "line": 1},
        {"name": "step", "filename": "/home/me/train.py", "line": line},
    ]
    return {
        "process_group": ("0", "default_pg"), "collective_seq_id": number, "profiling_name": name,
        "input_sizes": json.loads(sizes), "state": "scheduled", "is_p2p": False, "frames": frames,
    }  # fmt: skip


def dump(folder: Path, rank: int, *calls: dict[str, object]) -> str:
    path = folder / f"nccl_trace_rank_{rank}"
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}}
    path.write_bytes(pickle.dumps({"version": "2.10", "pg_config": config, "entries": list(calls)}))
    return str(path)


def test_a_rank_that_is_behind(tmp_path: Path) -> None:
    paths = [dump(tmp_path, rank, entry(1), entry(2, line=9)) for rank in (0, 2)]
    paths.append(dump(tmp_path, 1, entry(1)))
    assert flight_recorder.sentences(flight_recorder.dumps(paths)) == (
        "Rank 1 did not reach all_reduce (collective 2) of process group 0, called at /home/me/train.py:9: the other "
        "ranks waited for it; its last call was at /home/me/train.py:7.",
    )


def test_ranks_that_call_different_collectives_and_one_without_a_dump(tmp_path: Path) -> None:
    paths = [dump(tmp_path, 0, entry(1)), dump(tmp_path, 1, entry(1, "nccl:broadcast", line=5))]
    assert flight_recorder.sentences(flight_recorder.dumps(paths)) == (
        "Collective 1 of process group 0 differs between ranks: rank 0 called all_reduce [[4]] at "
        "/home/me/train.py:7; rank 1 called broadcast [[4]] at /home/me/train.py:5.",
        "No dump of rank 2: it ended before, or could not write one.",
    )


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("run",)


@pytest.mark.parametrize("content", [pickle.dumps(Evil()), b"", b"\x80", b"{", b"[1]", pickle.dumps([1]), b"\0" * 100])
def test_what_is_no_dump_runs_nothing(tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "nccl_trace_rank_0").write_bytes(content)
    assert flight_recorder.dumps([str(tmp_path / "nccl_trace_rank_0")]) == ()
    assert capsys.readouterr().out == ""
