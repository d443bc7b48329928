"""Whatever hangs or dies, `gpudoctor check` ends in time, names it, keeps the rest and leaves nothing running."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.probes.environments import distribution, script, venv
from tests.standins import clean_up, compile_into, left_running, needs_gcc

ROOT = Path(__file__).parent.parent
HERE = ["-P", "-m", "gpudoctor"]
SERVER = [str(ROOT / "tests" / "standins" / "host.py")]
TIMEOUT = 5.0  # seconds: what the runs below are given
LATE = 5.0  # seconds by which a run may be late: 2.5 to kill a child, the rest for a busy machine

SLEEPS = "import time\ntime.sleep(1000)"
DEAF = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(1000)"
STOPS = "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)"
SPINS = "while True: pass"
BEARS = "import subprocess, time\nsubprocess.Popen(['sleep', '1000'])\ntime.sleep(1000)"
LEAVES = "import subprocess\nsubprocess.Popen(['sleep', '1000'])\n__version__ = '0.7.0'"
CRASHES = "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)"
WELL = "__version__ = '0.7.0'"


class Run(NamedTuple):
    """One run that has ended: its exit code, its one document, what it said beside, its seconds."""

    code: int
    said: dict[str, Any]
    err: str
    seconds: float

    def why(self) -> str:
        """All that is unknown or wrong, as one text."""
        return json.dumps([self.said["findings"], self.said["unknown"]])


class Started:
    """gpudoctor, running with an environment that marks it and all its children."""

    def __init__(self, arguments: list[str], env: dict[str, str], start: list[str] = HERE) -> None:
        self.begun = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, *start, *arguments], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL, start_new_session=True, text=True,
        )  # fmt: skip

    def end(self) -> Run:
        """Wait for its end and hold it to its deadline; its output must be one JSON document."""
        out, err = self.process.communicate(timeout=10 * TIMEOUT)
        seconds = time.monotonic() - self.begun
        assert out, err
        assert "Traceback" not in err
        return Run(self.process.returncode, json.loads(out), err, seconds)


@pytest.fixture
def env(tmp_path: Path) -> Iterator[dict[str, str]]:
    """An environment with a mark in it; after the test no process may have that mark, and no stopped one either."""
    mark = f"GPUDOCTOR_TEST={uuid.uuid4()}"
    name, _, value = mark.partition("=")
    (tmp_path / "home").mkdir()
    yield {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(tmp_path / "home"), name: value}
    end = time.monotonic() + 2  # the kernel kills a group at once, and its members end when they are scheduled
    while left_running(mark) and time.monotonic() < end:
        time.sleep(0.05)
    left = left_running(mark)
    clean_up(left)
    assert not left


def check(env: dict[str, str], *arguments: str, start: list[str] = HERE, seconds: float = TIMEOUT) -> Run:
    """`gpudoctor check --json`, held to its deadline."""
    ended = Started(["check", "--json", "--timeout", str(seconds), *arguments], env, start).end()
    assert ended.seconds < seconds + LATE
    assert ended.said["schema"] == "gpudoctor.report/1"
    return ended


def facts(env: dict[str, str], *arguments: str, start: list[str] = HERE) -> dict[str, Any]:
    """`gpudoctor facts`, held to its deadline."""
    ended = Started(["facts", "--timeout", str(TIMEOUT), *arguments], env, start).end()
    assert ended.seconds < TIMEOUT + LATE
    return ended.said


# -- frameworks ----------------------------------------------------------------------------------------


def environment(folder: Path, **modules: str) -> str:
    """A virtual environment in which importing a framework runs the given code; returns its interpreter."""
    site = venv(folder)
    for name, code in modules.items():
        distribution(site, name, "0.7.0", (f"{name}/__init__.py",))
        (site / name / "__init__.py").write_text(code + "\n")
    return str(folder / "bin" / "python")


def lives(said: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What each framework did when it was imported."""
    return {each["name"]: each["live"] for each in said["pythons"][0]["frameworks"]}


@pytest.mark.parametrize("code", [SLEEPS, DEAF, STOPS, SPINS, BEARS], ids=["sleeps", "deaf", "stops", "spins", "bears"])
def test_an_import_that_never_returns(tmp_path: Path, env: dict[str, str], code: str) -> None:
    python = environment(tmp_path / "venv", torch=code, jax=WELL)
    ended = check(env, "--python", python)
    assert ended.seconds > TIMEOUT - 1
    assert ended.code != 0
    assert "stage import" in ended.why()
    assert "PyTorch" in ended.why()
    versions = {each["name"]: each["version"] for each in ended.said["frameworks"]}
    assert versions == {"torch": "0.7.0", "jax": "0.7.0"}
    assert "hangs while" not in json.dumps([f for f in ended.said["findings"] if "JAX" in f["subject"]])


def test_what_hangs_takes_no_time_from_what_runs_beside_it(tmp_path: Path, env: dict[str, str]) -> None:
    every = {"tensorflow": SLEEPS, "torch": SLEEPS, "onnxruntime": DEAF, "jax": WELL, "cupy": CRASHES}
    seen = lives(facts(env, "--python", environment(tmp_path / "venv", **every)))
    assert {name: live["stage"] for name, live in seen.items()} == {
        "tensorflow": "import",
        "torch": "import",
        "onnxruntime": "import",
        "jax": "done",
        "cupy": "import",
    }
    # With so little time, no answer is no proof of a hang.
    assert not any(live["hung"] for live in seen.values())
    assert seen["torch"]["version"]["unknown"].endswith("in stage import, all the time that was left")
    assert seen["cupy"]["died"] == "SIGSEGV"
    assert seen["torch"]["version"]["unknown"].startswith("no response within")


def test_a_grandchild_that_holds_the_pipe_is_not_waited_for(tmp_path: Path, env: dict[str, str]) -> None:
    ended = check(env, "--python", environment(tmp_path / "venv", torch=LEAVES))
    assert ended.seconds < TIMEOUT - 1


def test_an_interpreter_that_never_answers(tmp_path: Path, env: dict[str, str]) -> None:
    python = script(tmp_path / "venv" / "bin" / "python", "sleep 1000")
    started = Started(["check", "--json", "--timeout", str(TIMEOUT), "--python", python], env)
    out, err = started.process.communicate(timeout=TIMEOUT + LATE)
    assert (started.process.returncode, out) == (2, "")
    assert re.fullmatch(rf"gpudoctor: {python} did not respond within (5|4\.\d) seconds\.\n", err)


# -- the driver's libraries ------------------------------------------------------------------------------


QUICK = ("--quick", "--python", sys.executable)


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("driver")
    compile_into(folder, "nvml")
    return compile_into(folder, "cuda")


@needs_gcc
@pytest.mark.parametrize("how", ["hang", "deaf", "stop"])
def test_nvml_that_never_starts(env: dict[str, str], driver: str, how: str) -> None:
    env |= {"LD_LIBRARY_PATH": driver, "STANDIN_NVML_TROUBLE": how}
    ended = check(env, *QUICK, start=SERVER)
    why = {each["check"]: each["reason"] for each in ended.said["unknown"]}
    assert why["driver.nvml-no-answer"].startswith("no response in stage init within")
    assert ended.said["machine"]["driver"] == "550.54.14"
    assert ended.said["machine"]["driver_cuda"] == "12.4"  # libcuda has answered


@needs_gcc
@pytest.mark.parametrize("how", ["hang", "deaf", "stop"])
def test_cuda_that_never_starts(env: dict[str, str], driver: str, how: str) -> None:
    env |= {"LD_LIBRARY_PATH": driver, "STANDIN_CUINIT_TROUBLE": how}
    ended = check(env, *QUICK, start=SERVER)
    why = {each["check"]: each["reason"] for each in ended.said["unknown"]}
    assert why["driver.cuda-no-answer"].startswith("no response in stage init within")
    assert [gpu["name"] for gpu in ended.said["gpus"]] == ["NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 4091"]


@needs_gcc
def test_a_driver_that_has_not_answered_in_a_short_time_is_not_well(env: dict[str, str], driver: str) -> None:
    env |= {"LD_LIBRARY_PATH": driver, "STANDIN_NVML_TROUBLE": "hang"}
    assert check(env, *QUICK, start=SERVER).said["status"] == "incomplete"


@needs_gcc
def test_with_all_its_time_a_hang_is_a_finding(env: dict[str, str], driver: str) -> None:
    env |= {"LD_LIBRARY_PATH": driver, "STANDIN_NVML_TROUBLE": "hang", "STANDIN_CUINIT_TROUBLE": "hang"}
    ended = check(env, *QUICK, start=SERVER, seconds=30)
    assert ended.seconds < 10 + LATE  # two GPUs have ten seconds
    assert ended.code == 1
    first = ended.said["findings"][0]
    assert (first["check"], first["status"]) == ("driver.nvml-no-answer", "fail")
    assert "init" in first["message"]
    assert "driver.cuda-no-answer" in [each["check"] for each in first["consequences"]]


@needs_gcc
def test_a_gpu_that_hangs_keeps_those_before_it(env: dict[str, str], driver: str) -> None:
    env |= {"LD_LIBRARY_PATH": driver, "STANDIN_BAD": "1", "STANDIN_GPU_TROUBLE": "hang"}
    well, ill = facts(env, *QUICK, start=SERVER)["gpus"]
    assert (well["name"], well["memory"], well["status"]) == ("NVIDIA GeForce RTX 4090", 24 << 30, "ok")
    assert ill["memory"]["unknown"].startswith("no response in stage gpu 1")


# -- tools -----------------------------------------------------------------------------------------------

TOOLS = ("modinfo", "dkms", "dpkg-query", "systemctl", "nvidia-smi", "docker", "nvcc", "journalctl", "mokutil")


@needs_gcc
@pytest.mark.parametrize("code", ["exec sleep 1000", "trap '' TERM; while :; do sleep 1; done"], ids=["hangs", "deaf"])
def test_tools_that_never_return(tmp_path: Path, env: dict[str, str], driver: str, code: str) -> None:
    tools, ran = tmp_path / "bin", tmp_path / "ran"
    for tool in TOOLS:
        script(tools / tool, f"echo {tool} >> {ran}\n{code}")
    env |= {"LD_LIBRARY_PATH": driver, "STANDIN_BIN": str(tools), "PATH": f"{tools}:{env['PATH']}"}
    said = facts(env, *QUICK, start=SERVER)
    asked = ran.read_text().split()
    assert {"modinfo", "docker", "nvcc", "journalctl"} <= set(asked)
    assert len(asked) == len(set(asked))  # none is asked again
    assert [gpu["status"] for gpu in said["gpus"]] == ["ok", "ok"]  # the driver was asked beside them
    assert said["nvidia"]["cuda"]["code"] == 0
    assert said["nvidia"]["kernel"]["loaded"] == "550.54.14"
    assert "docker info did not respond" in said["containers"]["docker_runtimes"]["unknown"]
    assert "journalctl: it timed out" in said["log"]["events"]["unknown"]


@needs_gcc
def test_one_tool_that_hangs_leaves_time_for_the_rest(tmp_path: Path, env: dict[str, str], driver: str) -> None:
    tools = tmp_path / "bin"
    script(tools / "modinfo", "exec sleep 1000")
    script(tools / "dkms", "echo 'nvidia/550.54.14, 6.8.0-60-generic, x86_64: installed'")
    script(tools / "dpkg-query", "echo 'nvidia-driver-550 550.54.14-0ubuntu1 ii'")
    env |= {"LD_LIBRARY_PATH": driver, "STANDIN_BIN": str(tools), "PATH": f"{tools}:{env['PATH']}"}
    kernel = facts(env, *QUICK, start=SERVER)["nvidia"]["kernel"]
    assert isinstance(kernel["on_disk"][0]["version"], dict)
    assert kernel["dkms"][0]["state"] == "installed"
    assert kernel["packages"] == [["nvidia-driver-550", "550.54.14-0ubuntu1", "ii"]]


# -- our own end -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_our_own_death_leaves_no_child(tmp_path: Path, env: dict[str, str], number: signal.Signals) -> None:
    python = environment(tmp_path / "venv", torch=DEAF, jax=BEARS)
    started = Started(["check", "--json", "--python", python], env)
    mark = f"GPUDOCTOR_TEST={env['GPUDOCTOR_TEST']}"
    end = time.monotonic() + 10
    while len(left_running(mark)) < 4 and time.monotonic() < end:  # ourselves, two imports and a grandchild
        time.sleep(0.05)
    assert len(left_running(mark)) == 4
    os.kill(started.process.pid, number)
    out, err = started.process.communicate(timeout=5)
    assert started.process.returncode == (-9 if number == signal.SIGKILL else 128 + number)
    assert out == ""
    assert "Traceback" not in err
