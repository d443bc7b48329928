"""What the sampler's script reports, in which order and how often, and what it reads of each vendor's driver."""

import ast
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpudoctor.probes.nvidia.nvml import pynvml_folder
from gpudoctor.probes.staged_child import module_folder
from gpudoctor.workers import nvml, nvml_details, sampler, sampler_amd, sampler_nvidia
from gpudoctor.workers.sampler import RATES, ProcessTable, SamplerLoop
from tests.standins import compile_into, needs_gcc

SCRIPT = Path(sampler.__file__)
FAST, SLOW = RATES["fast"].period, RATES["slow"].period
PSUTIL = module_folder("psutil")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_into(tmp_path_factory.mktemp("nvml"), "nvml", "-DDATACENTRE", "-DLIVE")


# -- processes -----------------------------------------------------------------------------------------------


class Family:
    """A process below this one, and one below that whose name looks like the rest of a line of /proc."""

    SLEEPS = "import os, sys, time; print(os.getpid(), flush=True); time.sleep(100)"
    NAME = "rank 0) S 1 ("

    def __init__(self) -> None:
        code = (
            f"import subprocess, sys; subprocess.run([{self.NAME!r}, '-c', {self.SLEEPS!r}], executable=sys.executable)"
        )
        argv = [sys.executable, "-c", code, "--child"]
        self.child = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        assert self.child.stdout
        self.grandchild = int(self.child.stdout.readline())

    def end(self) -> None:
        """End both; the child ends when its own child did."""
        os.kill(self.grandchild, signal.SIGKILL)
        self.child.wait()
        self.close()

    def close(self) -> None:
        """Close the pipe."""
        if self.child.stdout:
            self.child.stdout.close()


@pytest.fixture
def family() -> Iterator[Family]:
    found = Family()
    yield found
    if found.child.poll() is None:
        found.end()
    found.close()


def test_only_somebody_elses_processes_count(family: Family) -> None:
    table, ours = ProcessTable(os.getpid(), PSUTIL), [os.getpid(), family.child.pid, family.grandchild]
    assert table.others([]) == table.others(ours) == 0
    assert table.others([1, 1, family.grandchild]) == 1
    assert table.others([1, 99_999_999]) == 2
    assert ProcessTable(family.child.pid, PSUTIL).others(ours) == 1


def test_a_worker_that_is_dying_stays_ours(family: Family) -> None:
    table = ProcessTable(os.getpid(), PSUTIL)
    assert table.others([family.grandchild]) == 0
    family.end()
    assert table.others([family.grandchild, family.child.pid, 1]) == 1


def test_gpudoctor_may_be_the_first_process_of_a_container() -> None:
    assert ProcessTable(1, PSUTIL).others([os.getpid()]) == 0


def test_a_process_has_command_user_memory_and_age(family: Family) -> None:
    table = ProcessTable(1, PSUTIL, lambda: time.time() + 100)
    reported = table.described(family.child.pid, "C", 5)
    assert 100 <= reported.pop("age") < 200
    assert reported.pop("host_memory") > 100_000
    assert reported.pop("command").endswith(" --child")
    assert reported.pop("name").startswith("python")
    assert reported == {"pid": family.child.pid, "kind": "C", "memory": 5, "user": os.getuid()}
    assert table.described(family.grandchild, "G", None)["command"] == f"{Family.NAME} -c {Family.SLEEPS}"


def test_of_a_process_in_another_pid_namespace_nothing_is_known() -> None:
    reported = ProcessTable(1, PSUTIL).described(99_999_999, "G", 5)
    assert reported == {"pid": 99_999_999, "kind": "G", "memory": 5, **dict.fromkeys(sampler.DESCRIBED)}


def test_without_psutil_everything_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "psutil.py").write_text("raise ImportError('built for another Python')")
    code = (
        f"import sys, json; sys.path.append({str(SCRIPT.parent)!r}); import sampler\n"
        f"table = sampler.ProcessTable(1, {str(tmp_path)!r})\n"
        "print(json.dumps([table.others([5]), table.host()['memory'], table.described(5, 'C', 1)['age']]))"
    )
    ended = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(ended.stdout) == [{"unknown": "psutil cannot be imported: built for another Python"}] * 3


def test_the_machines_memory_is_the_kernels() -> None:
    total = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal"))
    reported = ProcessTable(1, PSUTIL).host()
    assert reported["memory"] == int(total.split()[1]) * 1024
    assert 0 < reported["memory_available"] < reported["memory"]


# -- rounds --------------------------------------------------------------------------------------------------


class Slow:
    """A GPU whose driver takes its time, by a clock that only it moves."""

    def __init__(self, name: str, clock: list[float], sample: float, counters: float) -> None:
        self.name, self._clock, self._sample, self._counters = name, clock, sample, counters

    def sample(self) -> dict[str, Any]:
        self._clock[0] += self._sample
        return {"power": 1}

    def full_sample(self) -> dict[str, Any]:
        return self.sample() | {"fan": 2}

    def usage(self) -> dict[str, Any]:
        return self.sample()

    def counters(self) -> dict[str, Any]:
        self._clock[0] += self._counters
        return {"others": 0}

    def device(self) -> dict[str, Any]:
        return {"name": self.name}

    def processes(self) -> list[Any]:
        return []


def run(
    rate: str, rounds: int, sample: float = 0.001, counters: float = 0.0, gpus: int = 1
) -> tuple[list[dict[str, Any]], list[float]]:
    """The lines and the pauses of some rounds."""
    now = [100.0]
    said: list[dict[str, Any]] = []
    found = [Slow(f"GPU {index}", now, sample, counters) for index in range(gpus)]
    table = ProcessTable(1, PSUTIL)
    each = SamplerLoop(RATES[rate], found, table, lambda **line: said.append(line), lambda: now[0])
    pauses = []
    for _ in range(rounds):
        pauses.append(each.one())
        now[0] += pauses[-1]
    return said, pauses


def kinds(said: list[dict[str, Any]]) -> list[str]:
    """What each line is about."""
    return [
        line.get("stage") or " ".join([line.get("gpu", "the"), *(key for key in line if key not in ("gpu", "at"))])
        for line in said
    ]


def test_every_question_has_its_stage_and_its_time() -> None:
    said, _ = run("fast", 2, counters=0.001, gpus=2)
    assert kinds(said) == [
        *("state of GPU 0", "GPU 0 sample", "state of GPU 1", "GPU 1 sample"),
        *("counters of GPU 0", "GPU 0 counters", "counters of GPU 1", "GPU 1 counters"),
        *("state of GPU 0", "GPU 0 sample", "state of GPU 1", "GPU 1 sample"),
    ]
    assert [line["sample"]["at"] for line in said if "sample" in line] == pytest.approx([100, 100.001, 100.05, 100.051])
    assert all("at" in line["counters"] for line in said if "counters" in line)


def test_the_slow_rate_reports_everything_of_every_gpu_at_once() -> None:
    said, _ = run("slow", 1, gpus=2)
    assert kinds(said) == [
        *("state of GPU 0", "GPU 0 sample", "state of GPU 1", "GPU 1 sample"),
        *("limits of GPU 0", "GPU 0 device", "limits of GPU 1", "GPU 1 device"),
        *("processes of GPU 0", "GPU 0 processes", "processes of GPU 1", "GPU 1 processes"),
        "the host",
    ]
    assert [line["sample"]["fan"] for line in said if "sample" in line] == [2, 2]


def test_processes_come_every_second_time_and_limits_every_tenth() -> None:
    said, pauses = run("slow", 21, sample=0.01)
    assert pauses == pytest.approx([SLOW - 0.01] * 21)
    assert sum("sample" in line for line in said) == sum("host" in line for line in said) == 21
    assert sum("processes" in line for line in said) == 11
    assert sum("device" in line for line in said) == 3


def test_of_one_gpu_a_stage_is_reported_only_where_it_changes() -> None:
    stages = [line["stage"] for line in run("fast", 5, counters=0.001)[0] if "stage" in line]
    assert stages == ["state of GPU 0", "counters of GPU 0"] * 3


@pytest.mark.parametrize(
    ("rate", "took", "pause"),
    [
        *(("fast", 0.0, FAST), ("fast", 0.01, FAST - 0.01), ("fast", 0.025, 0.025), ("fast", 0.04, 0.04)),
        *(("fast", 0.4, 0.4), ("slow", 0.4, 0.6), ("slow", 0.7, 0.9), ("slow", 3.0, 3.0)),
    ],
)
def test_at_least_half_of_the_time_is_slept(rate: str, took: float, pause: float) -> None:
    assert run(rate, 2, took)[1][1] == pytest.approx(pause)


@pytest.mark.parametrize(("took", "least", "most"), [(0.0, 0.08, 0.101), (0.01, 0.5, 0.57), (0.3, 1.0, 1.4)])
def test_counters_are_read_as_often_as_the_driver_can_bear(took: float, least: float, most: float) -> None:
    times = [line["counters"]["at"] for line in run("fast", 100, counters=took)[0] if "counters" in line]
    gaps = [after - before - took for before, after in pairwise(times)]
    assert gaps
    assert all(least <= gap <= most for gap in gaps)


# -- NVIDIA --------------------------------------------------------------------------------------------------


def lines(folder: str, enough: int, pynvml: str | None = None, rate: str = "fast", **env: str) -> list[dict[str, Any]]:
    """The first lines of the script, run as the parent runs it."""
    argv = [sys.executable, "-I", "-S", str(SCRIPT), str(SCRIPT.parent), rate, PSUTIL, "nvidia"]
    argv.append(pynvml_folder() if pynvml is None else pynvml)
    with subprocess.Popen(argv, env={"LD_LIBRARY_PATH": folder, **env}, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        said = [json.loads(line) for line, _ in zip(child.stdout, range(enough), strict=False)]
        child.terminate()
    return said


@needs_gcc
def test_a_gpu_is_sampled_in_our_units(folder: str) -> None:
    said = lines(folder, 20, STANDIN_DEVICES="1")
    first, second = [line["sample"] for line in said if "sample" in line][:2]
    assert second.pop("at") > first.pop("at") > 0
    assert first == {
        "sm_clock": 1010,
        "memory_clock": 2619,
        "event_reasons": 1,
        "temperature": 41,
        "power": 30.5,
        "utilization": 7,
        "link_generation": 1,
        "link_width": 8,
    }
    assert (second["sm_clock"], second["event_reasons"]) == (1020, 0)


@needs_gcc
def test_counters_come_at_once_and_then_less_often(folder: str) -> None:
    said = [line for line in lines(folder, 60, STANDIN_DEVICES="1") if "stage" not in line and "gpu" in line]
    assert ["counters" in line for line in said[:3]] == [False, True, False]
    assert 1 < sum("counters" in line for line in said) < sum("sample" in line for line in said)
    first = said[1]["counters"]
    del first["at"]
    assert first == {
        "ecc_corrected": 99,
        "ecc_uncorrected": 2,
        "pcie_replays": 17,
        "nvlink_replays": None,  # no link
        "nvlink_recoveries": None,
        "nvlink_crc": None,
        "others": 1,
    }


@needs_gcc
@pytest.mark.parametrize(
    ("newer", "expected"), [("0", (52, 59, 45)), ("1", (None, 7, None))], ids=["totals", "NVLink 5, by link"]
)
def test_nvlink_errors_are_counted(folder: str, newer: str, expected: tuple[int | None, ...]) -> None:
    said = lines(folder, 20, STANDIN_DEVICES="1", STANDIN_LINKS="2", STANDIN_NVLINK5=newer)
    first = next(line["counters"] for line in said if "counters" in line)
    assert tuple(first[name] for name in nvml_details.LINKS) == expected


@needs_gcc
def test_what_goes_wrong_at_the_start_is_told(folder: str) -> None:
    assert lines(folder, 99, STANDIN_NVML="18")[-2:] == [
        {"code": 18, "text": "Driver/library version mismatch"},
        {"count": 0},
    ]
    why = "nvidia-ml-py cannot be imported: No module named 'pynvml'"
    assert lines(folder, 99, pynvml="")[-2] == {"no_module": why}
    assert "not_loaded" in lines("/nonexistent", 99)[-2]


@needs_gcc
def test_a_gpu_without_a_handle_is_told_and_the_others_are_watched(folder: str) -> None:
    said = lines(folder, 15, STANDIN_GONE="0")
    assert {"gpu": "GPU 0", "refused": {"unknown": "NVML: GPU is lost"}} in said
    assert {line["gpu"] for line in said if "sample" in line} == {"GPU 1"}


@pytest.mark.parametrize("module", [sampler, sampler_nvidia, sampler_amd, nvml])
def test_the_scripts_keep_to_python_3_8(module: Any) -> None:
    ast.parse(Path(module.__file__).read_text(), feature_version=(3, 8))


@needs_gcc
def test_the_slow_rate_reports_limits_processes_and_the_hosts_memory(tmp_path: Path) -> None:
    folder = compile_into(tmp_path, "nvml", "-DDATACENTRE")
    said = lines(folder, 14, rate="slow", STANDIN_DEVICES="1", STANDIN_LINKS="3")
    reported = {key: value for line in said if line.get("gpu") == "GPU 0" for key, value in line.items()}
    assert {"count": 1} in said
    assert reported["device"]["nvlinks"] == [True, False, False]
    assert (reported["device"]["memory"], reported["device"]["memory_clock_max"]) == (24 << 30, 2520)
    assert (reported["sample"]["memory_used"], reported["sample"]["sm_clock"]) == (1 << 30, 210)
    assert [one["pid"] for one in reported["processes"]] == [1]
    assert next(line["host"]["memory"] for line in said if "host" in line) > 1 << 20


class RefusedError(Exception):
    """As pynvml's NVMLError."""

    def __init__(self, value: int) -> None:
        super().__init__(value)
        self.value = value


def card(**answers: Any) -> sampler_nvidia.SampledNvidiaGpu:
    """A GPU whose pynvml gives some answers and knows no other question."""
    py = SimpleNamespace(
        NVMLError=RefusedError, NVML_PCIE_UTIL_RX_BYTES=1, NVML_PCIE_UTIL_TX_BYTES=0, nvmlMemory_v2=2,
        **{name: lambda *_, value=value: value(*_) if callable(value) else value for name, value in answers.items()},
    )  # fmt: skip
    lib: Any = SimpleNamespace(nvmlErrorString=None)
    nv = nvml.NvmlLibrary(lib, None)
    nv.py = py
    return sampler_nvidia.SampledNvidiaGpu(nvml, nv, 0, "handle", ProcessTable(1, PSUTIL))


def test_traffic_is_told_in_bytes_and_by_direction() -> None:
    gpu = card(
        nvmlDeviceGetPcieThroughput=lambda _, counter: 5 + counter,
        nvmlDeviceGetFanSpeed=40,
        nvmlDeviceGetPowerUsage=3000,
    )
    reported = gpu.full_sample()
    assert (reported["pcie_rx"], reported["pcie_tx"], reported["fan"], reported["power"]) == (6000, 5000, 40, 3)


def test_a_process_that_computes_and_draws_is_one() -> None:
    compute = [SimpleNamespace(pid=os.getpid(), usedGpuMemory=None), SimpleNamespace(pid=2, usedGpuMemory=9)]
    graphics = [SimpleNamespace(pid=os.getpid(), usedGpuMemory=7), SimpleNamespace(pid=3, usedGpuMemory=None)]
    gpu = card(nvmlDeviceGetComputeRunningProcesses_v3=compute, nvmlDeviceGetGraphicsRunningProcesses_v3=graphics)
    reported = {one["pid"]: (one["kind"], one["memory"]) for one in gpu.processes()}
    assert reported[os.getpid()] == ("C+G", 7)
    assert reported[2] == ("C", 9)
    assert reported[3] == ("G", {"unknown": "NVML does not report the memory of this process"})
