"""What the monitor's script tells, in which order and how often, and what it reads of NVIDIA's and of AMD's driver."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpudoctor.probes.nvidia.nvml import pynvml_folder
from gpudoctor.workers import monitor, monitor_amd, monitor_nvidia, nvml, watch_amd
from gpudoctor.workers.monitor import PERIOD, MonitorLoop
from tests.standins import compile_into, needs_gcc

SCRIPT = Path(monitor.__file__)


class Slow:
    """A GPU whose driver takes its time, by a clock that only it moves."""

    def __init__(self, name: str, clock: list[float], took: float) -> None:
        self.name, self._clock, self._took = name, clock, took

    def sample(self) -> dict[str, Any]:
        self._clock[0] += self._took
        return {"power": 1}

    def device(self) -> dict[str, Any]:
        return {"name": self.name}

    def processes(self) -> list[Any]:
        return []


def run(took: float, rounds: int, gpus: int = 1) -> tuple[list[dict[str, Any]], list[float]]:
    """The lines and the times at which rounds began."""
    now = [100.0]
    said: list[dict[str, Any]] = []
    each = MonitorLoop(
        [Slow(f"GPU {i}", now, took) for i in range(gpus)], lambda **line: said.append(line), lambda: now[0]
    )
    begun = []
    for _ in range(rounds):
        begun.append(now[0])
        pause = each.one()
        now[0] += pause
    return said, begun


def test_the_first_round_tells_everything_of_every_gpu_and_names_each_question_before() -> None:
    said, _ = run(0.001, 1, gpus=2)
    kinds = [line.get("stage") or f"{line['gpu']} {next(key for key in line if key != 'gpu')}" for line in said]
    assert kinds == [
        *("limits of GPU 0", "GPU 0 device", "state of GPU 0", "GPU 0 sample", "processes of GPU 0", "GPU 0 processes"),
        *("limits of GPU 1", "GPU 1 device", "state of GPU 1", "GPU 1 sample", "processes of GPU 1", "GPU 1 processes"),
    ]


def test_processes_are_told_every_second_time_and_limits_every_tenth() -> None:
    said, begun = run(0.01, 21)
    assert begun == pytest.approx([100.0 + at * PERIOD for at in range(21)])
    assert sum("sample" in line for line in said) == 21
    assert sum("processes" in line for line in said) == 11
    assert sum("device" in line for line in said) == 3


@pytest.mark.parametrize(("took", "gap"), [(0.4, 1.0), (0.7, 1.4), (3.0, 6.0)])
def test_at_least_half_of_the_time_is_slept(took: float, gap: float) -> None:
    begun = run(took, 3)[1]
    assert begun[2] - begun[1] >= gap - 1e-6


def test_a_process_has_its_name_and_its_user_and_one_elsewhere_has_none(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "status").write_text("Name:\tpython\nUid:\t1000\t1000\t1000\t1000\n")
    told = monitor.process(7, "C", 5, str(tmp_path))
    assert told == {"pid": 7, "kind": "C", "memory": 5, "name": "python", "user": 1000}
    assert monitor.process(8, "G", 5, str(tmp_path))["name"] is None


@pytest.mark.parametrize("module", [monitor, monitor_nvidia, monitor_amd])
def test_the_scripts_keep_to_python_3_8(module: Any) -> None:
    ast.parse(Path(module.__file__).read_text(), feature_version=(3, 8))


# -- NVIDIA --------------------------------------------------------------------------------------------------


@needs_gcc
def test_nvidias_gpus_are_told_by_nvml(tmp_path: Path) -> None:
    folder = compile_into(tmp_path, "nvml", "-DDATACENTRE")
    argv = [sys.executable, "-I", "-S", str(SCRIPT), str(SCRIPT.parent), "nvidia", pynvml_folder()]
    env = {"LD_LIBRARY_PATH": folder, "STANDIN_DEVICES": "1", "STANDIN_LINKS": "3"}
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        said = [json.loads(line) for line, _ in zip(child.stdout, range(13), strict=False)]
        child.terminate()
    told = {key: value for line in said if line.get("gpu") == "GPU 0" for key, value in line.items()}
    assert {"stage": "found", "count": 1} in said
    assert told["device"]["nvlinks"] == [True, False, False]
    assert (told["device"]["memory"], told["device"]["memory_clock_max"]) == (24 << 30, 2520)
    assert (told["sample"]["memory_used"], told["sample"]["sm_clock"]) == (1 << 30, 210)
    assert [one["pid"] for one in told["processes"]] == [1]


class RefusedError(Exception):
    """As pynvml's NVMLError."""

    def __init__(self, value: int) -> None:
        super().__init__(value)
        self.value = value


def card(**answers: Any) -> monitor_nvidia.MonitoredNvidiaGpu:
    """A GPU whose pynvml gives some answers and knows no other question."""
    py = SimpleNamespace(
        NVMLError=RefusedError, NVML_PCIE_UTIL_RX_BYTES=1, NVML_PCIE_UTIL_TX_BYTES=0, nvmlMemory_v2=2,
        **{name: lambda *_, value=value: value(*_) if callable(value) else value for name, value in answers.items()},
    )  # fmt: skip
    lib: Any = SimpleNamespace(nvmlErrorString=None)
    nv = nvml.NvmlLibrary(lib, None)
    nv.py = py
    watched = SimpleNamespace(name="GPU 0", sample=lambda: {"power": 3})
    return monitor_nvidia.MonitoredNvidiaGpu(watched, monitor.process, nvml, nv, "handle")


def test_traffic_is_told_in_bytes_and_by_direction() -> None:
    told = card(nvmlDeviceGetPcieThroughput=lambda _, counter: 5 + counter, nvmlDeviceGetFanSpeed=40).sample()
    assert (told["pcie_rx"], told["pcie_tx"], told["fan"], told["power"]) == (6000, 5000, 40, 3)


def test_a_process_that_computes_and_draws_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    compute = [SimpleNamespace(pid=os.getpid(), usedGpuMemory=None), SimpleNamespace(pid=2, usedGpuMemory=9)]
    graphics = [SimpleNamespace(pid=os.getpid(), usedGpuMemory=7), SimpleNamespace(pid=3, usedGpuMemory=None)]
    gpu = card(nvmlDeviceGetComputeRunningProcesses_v3=compute, nvmlDeviceGetGraphicsRunningProcesses_v3=graphics)
    told = {one["pid"]: (one["kind"], one["memory"]) for one in gpu.processes()}
    assert told[os.getpid()] == ("C+G", 7)
    assert told[2] == ("C", 9)
    assert told[3] == ("G", {"unknown": "NVML does not report the memory of this process"})


# -- AMD -----------------------------------------------------------------------------------------------------

FILES = {
    "gpu/power/runtime_status": "active", "gpu/gpu_busy_percent": "12", "gpu/mem_info_vram_used": "1024",
    "gpu/hwmon/hwmon3/pwm1": "128", "gpu/pcie_replay_count": "2", "gpu/current_link_speed": "16.0 GT/s PCIe",
    "gpu/current_link_width": "16", "proc/40/queues/0/gpuid": "7", "proc/41/queues/0/gpuid": "8",
    "proc/40/vram_7": "4096\n",
}  # fmt: skip


def amd(folder: Path, changes: dict[str, str] | None = None, kfd: int | None = 7) -> monitor_amd.MonitoredAmdGpu:
    """A GPU of files."""
    for name, text in (FILES | (changes or {})).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    place = str(folder / "gpu")
    watched = watch_amd.WatchedAmdGpu("GPU 0", place, place, kfd, str(folder / "proc"), {"16.0": 4})
    return monitor_amd.MonitoredAmdGpu(watched, monitor.process, kfd, str(folder / "proc"))


def test_amds_gpus_are_told_by_sysfs(tmp_path: Path) -> None:
    gpu = amd(tmp_path)
    told = gpu.sample()
    assert (told["utilization"], told["memory_used"], told["fan"]) == (12, 1024, 50)
    assert (told["link_generation"], told["link_width"], told["pcie_rx"]) == (4, 16, monitor_amd.NO_TRAFFIC)
    assert gpu.device() == {"pcie_replays": 2}
    assert [(one["pid"], one["kind"], one["memory"]) for one in gpu.processes()] == [(40, "C", 4096)]


def test_a_sleeping_gpu_is_not_woken_and_one_without_a_fan_has_none(tmp_path: Path) -> None:
    gpu = amd(tmp_path, {"gpu/power/runtime_status": "suspended"})
    assert (gpu.sample()["memory_used"], gpu.device()) == (watch_amd.ASLEEP, {})
    (tmp_path / "gpu/hwmon/hwmon3/pwm1").unlink()
    assert amd(tmp_path / "other", {"gpu/hwmon/hwmon3/pwm1": "no number"}).sample()["fan"] is None


def test_who_computes_is_unknown_where_the_compute_driver_does_not_show_it(tmp_path: Path) -> None:
    assert "unknown" in amd(tmp_path, kfd=None).processes()
    (tmp_path / "proc/40/vram_7").unlink()
    gpu = monitor_amd.MonitoredAmdGpu(amd(tmp_path)._watched, monitor.process, 9, str(tmp_path / "proc"))
    assert [one["memory"] for one in gpu.processes()] == [{"unknown": f"{tmp_path}/proc/40/vram_9 cannot be read"}]


def test_the_script_tells_of_amds_gpus(tmp_path: Path) -> None:
    amd(tmp_path)
    place = str(tmp_path / "gpu")
    each = [
        {"name": "GPU 0", "folder": place, "link": place, "kfd": 7},
        {"name": "GPU 1", "folder": "/nowhere", "link": "", "kfd": None},
    ]
    task = json.dumps({"gpus": each, "processes": str(tmp_path / "proc"), "generations": {"16.0": 4}})
    argv = [sys.executable, "-I", "-S", str(SCRIPT), str(SCRIPT.parent), "amd", task]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        said = [json.loads(line) for line, _ in zip(child.stdout, range(8), strict=False)]
        child.terminate()
    assert said[0] == {"gpu": "GPU 1", "refused": {"unknown": "/nowhere is not shown here"}}
    assert [line["sample"]["utilization"] for line in said if "sample" in line] == [12]
