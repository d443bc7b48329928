"""What the sampler's script sees of a program's processes: real ones, with a library that is called like PyTorch's."""

import ast
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.cli.run_program.watch import LIBRARIES
from gpudoctor.probes.staged_child import module_folder
from gpudoctor.workers import sampler, sampler_program
from gpudoctor.workers.sampler import RATES, ProcessTable, SamplerLoop

PSUTIL = module_folder("psutil")
WAIT = "import sys; print('ready', flush=True); sys.stdin.read()"


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a Python program that says when it is ready, and lasts until its standard input ends."""
    running = []

    def begin(code: str, **env: str) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [sys.executable, "-c", code], env=os.environ | env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        running.append(child)
        assert child.stdout
        assert child.stdout.readline() == "ready\n"
        return child

    yield begin
    for child in running:
        child.send_signal(signal.SIGCONT)
        child.communicate()


def program(pid: int, variables: tuple[str, ...] = ()) -> sampler_program.ProgramTree:
    return sampler_program.ProgramTree(pid, LIBRARIES, list(variables), ProcessTable(os.getpid(), PSUTIL))


def look(of: sampler_program.ProgramTree) -> dict[int, dict[str, Any]]:
    return {one["pid"]: one for one in of.tree()["processes"]}


def library(folder: Path) -> Path:
    """A library by the name of PyTorch's; what is in it is of no consequence."""
    path = folder / "env/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so"
    path.parent.mkdir(parents=True)
    shutil.copy(next(one for one in Path("/proc/self/maps").read_text().split() if "/libc.so" in one), path)
    return path


def mapping(path: Path, then: str = WAIT) -> str:
    """A program that maps a file as the loader does."""
    return (
        f"import mmap; file = open({str(path)!r}, 'rb')\n"
        f"held = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)\n{then}"
    )


def test_a_framework_is_recognized_by_a_mapped_library(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    path = library(tmp_path)
    child = start(mapping(path), CUDA_VISIBLE_DEVICES="", SECRET="x")
    one = look(program(child.pid, ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")))[child.pid]
    assert one["frameworks"] == {"torch": str(path)}
    assert one["env"] == {"CUDA_VISIBLE_DEVICES": ""}
    assert (one["worker"], one["nodes"], one["stopped"], one["parent"]) == (False, False, False, os.getpid())
    assert one["cpu"] >= 0


def test_a_program_without_one_is_told_without_its_environment(start: Callable[..., subprocess.Popen[str]]) -> None:
    child = start(WAIT, CUDA_VISIBLE_DEVICES="0")
    one = look(program(child.pid, ("CUDA_VISIBLE_DEVICES",)))[child.pid]
    assert (one["frameworks"], one["env"]) == ({}, {})


def test_a_fork_is_a_worker_and_another_program_is_none(start: Callable[..., subprocess.Popen[str]]) -> None:
    child = start(
        "import os, subprocess, sys\n"
        "sleeper = subprocess.Popen(['sleep', '600'])\n"
        "read, write = os.pipe()\n"
        "fork = os.fork()\n"
        "if fork == 0:\n    os.close(write); os.read(read, 1); os._exit(0)\n"
        f"{WAIT}\nsleeper.kill()"
    )
    seen = look(program(child.pid))
    assert {one["name"]: one["worker"] for one in seen.values() if one["name"] == "sleep"} == {"sleep": False}
    assert sorted(one["worker"] for one in seen.values()) == [False, False, True]


def test_a_fork_of_torch_compiles_is_no_data_loader(start: Callable[..., subprocess.Popen[str]]) -> None:
    child = start(
        "import os, sys  # as python torch/_inductor/compile_worker/__main__.py\n"
        "read, write = os.pipe()\n"
        f"if os.fork() == 0:\n    os.close(write); os.read(read, 1); os._exit(0)\n{WAIT}"
    )
    assert [one["worker"] for one in look(program(child.pid)).values()] == [False, False]


def test_one_that_multiprocessing_starts_anew_is_a_worker(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    (tmp_path / "job.py").write_text("def job(pipe):\n    pipe.send(1)\n    pipe.poll(600)\n")
    child = start(
        f"import multiprocessing as m, sys; sys.path.insert(0, {str(tmp_path)!r}); import job\n"
        "ours, theirs = m.get_context('spawn').Pipe()\n"
        "one = m.get_context('spawn').Process(target=job.job, args=(theirs,)); one.start(); ours.recv()\n"
        f"{WAIT}\nours.send(1)"
    )
    seen = look(program(child.pid))
    assert sum(one["worker"] for one in seen.values()) >= 1
    assert seen[child.pid]["worker"] is False


def test_a_device_node_of_a_gpu_is_remembered(
    start: Callable[..., subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    child = start("import sys; file = open('/dev/zero'); print('ready', flush=True); sys.stdin.readline(); "
                  "file.close(); print('ready', flush=True); sys.stdin.read()")  # fmt: skip
    monkeypatch.setattr(sampler_program, "NODES", ("/dev/zero",))
    one = program(child.pid)
    assert look(one)[child.pid]["nodes"] is True
    assert child.stdin
    assert child.stdout
    child.stdin.write("\n")
    child.stdin.flush()
    child.stdout.readline()
    assert look(one)[child.pid]["nodes"] is True
    assert look(program(child.pid))[child.pid]["nodes"] is False


def test_one_that_is_stopped_is_told_so_and_one_that_has_ended_is_gone(
    start: Callable[..., subprocess.Popen[str]],
) -> None:
    child = start(WAIT)
    one = program(child.pid)
    child.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    assert look(one)[child.pid]["stopped"] is True
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert look(one) == {}


def test_one_that_outlives_its_parent_is_still_seen(start: Callable[..., subprocess.Popen[str]]) -> None:
    child = start(
        "import os, subprocess, sys\n"
        "middle = subprocess.Popen(['sh', '-c', 'sleep 600 & read x; exit'], stdin=subprocess.PIPE)\n"
        "print('ready', flush=True); sys.stdin.readline(); middle.communicate(b'\\n'); print('ready', flush=True)\n"
        "sys.stdin.read()"
    )
    one = program(child.pid)
    while not (sleeper := [pid for pid, seen in look(one).items() if seen["name"] == "sleep"]):
        pass
    assert child.stdin
    assert child.stdout
    child.stdin.write("\n")
    child.stdin.flush()
    child.stdout.readline()
    try:
        assert sleeper[0] in look(one)
    finally:
        os.kill(sleeper[0], signal.SIGKILL)


def test_the_script_tells_of_the_program_until_it_is_ended(start: Callable[..., subprocess.Popen[str]]) -> None:
    child = start(WAIT)
    script = Path(sampler.__file__)
    task = json.dumps({"root": child.pid, "libraries": LIBRARIES, "variables": []})
    argv = [sys.executable, "-I", "-S", str(script), str(script.parent), "tree", PSUTIL, "program", task]
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # as in the thread that starts it
    try:
        ran = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    with ran:
        assert ran.stdout
        trees = [line for line in (json.loads(ran.stdout.readline()) for _ in range(6)) if "tree" in line]
        ran.terminate()
    assert [one["pid"] for one in trees[0]["tree"]["processes"]] == [child.pid]
    assert trees[1]["tree"]["at"] > trees[0]["tree"]["at"]
    assert ran.returncode == -signal.SIGTERM


@pytest.mark.parametrize(("cost", "pause"), [(0.0005, 0.5), (0.01, 5.0), (1.0, 30.0)])
def test_looks_are_rarer_where_they_cost_more(cost: float, pause: float) -> None:
    """At most a five hundredth of a core, in looks at most 30 s apart."""
    spent, now, looks = [0.0], [0.0], []

    class Asked:
        name = "program"

        def tree(self) -> dict[str, Any]:
            looks.append(now[0])
            spent[0] += cost
            return {"processes": []}

    asked: Any = Asked()
    table = ProcessTable(os.getpid(), PSUTIL)
    loop = SamplerLoop(RATES["tree"], [asked], table, lambda **_: None, lambda: now[0], lambda: spent[0])
    for _ in range(100):
        now[0] += loop.one()
    gaps = [after - before for before, after in pairwise(looks)]
    assert gaps
    assert all(max(1.0, pause) <= gap <= max(1.0, pause) + 1.0 for gap in gaps)


def test_the_script_keeps_to_python_3_8() -> None:
    ast.parse(Path(sampler_program.__file__).read_text(), feature_version=(3, 8))
