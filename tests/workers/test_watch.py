"""What the sampler tells, in which order and how often, and what it reads of NVIDIA's and of AMD's driver."""

import ast
import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.probes.nvidia.nvml import pynvml_folder
from gpudoctor.workers import nvml, watch, watch_amd, watch_nvidia
from gpudoctor.workers.watch import PERIOD, Others, WatchLoop
from tests.standins import compile_into, needs_gcc

SCRIPT = Path(watch.__file__)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_into(tmp_path_factory.mktemp("nvml"), "nvml", "-DDATACENTRE", "-DLIVE")


# -- processes -----------------------------------------------------------------------------------------------

FAMILY = {10: (1, "gpudoctor"), 20: (10, "worker"), 30: (20, "rank 0) 1 ("), 40: (1, "somebody"), 50: (50, "loop")}


@pytest.fixture
def others(tmp_path: Path) -> Others:
    for pid, (parent, name) in FAMILY.items():
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(f"{pid} ({name}) S {parent} 10 10 0\n")
    return Others(10, str(tmp_path))


@pytest.mark.parametrize(
    ("pids", "count"), [([], 0), ([10, 20, 30], 0), ([40], 1), ([40, 40, 20], 1), ([50, 1, 99], 3), ([99], 1)]
)
def test_only_somebody_elses_processes_count(others: Others, pids: list[int], count: int) -> None:
    assert others.count(pids) == count


def test_a_worker_that_is_dying_stays_ours(others: Others, tmp_path: Path) -> None:
    assert others.count([30]) == 0
    (tmp_path / "30" / "stat").unlink()
    (tmp_path / "20" / "stat").unlink()
    assert others.count([20, 30, 40]) == 1


def test_gpudoctor_may_be_the_first_process_of_a_container(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "stat").write_text("7 (worker) S 1 7 7 0\n")
    assert Others(1, str(tmp_path)).count([7]) == 0


# -- rounds --------------------------------------------------------------------------------------------------


class Slow:
    """A GPU whose driver takes its time, by a clock that only it moves."""

    def __init__(self, name: str, clock: list[float], sample: float, counters: float) -> None:
        self.name, self._clock, self._sample, self._counters = name, clock, sample, counters

    def sample(self) -> dict[str, Any]:
        self._clock[0] += self._sample
        return {"power": 1}

    def counters(self, _: Others) -> dict[str, Any]:
        self._clock[0] += self._counters
        return {"others": 0}


def run(sample: float, counters: float, rounds: int, gpus: int = 1) -> tuple[list[dict[str, Any]], list[float]]:
    """The lines and the pauses of some rounds."""
    now = [100.0]
    said: list[dict[str, Any]] = []
    found = [Slow(f"GPU {index}", now, sample, counters) for index in range(gpus)]
    each = WatchLoop(found, Others(1), lambda **line: said.append(line), lambda: now[0])
    pauses = []
    for _ in range(rounds):
        pauses.append(each.one())
        now[0] += pauses[-1]
    return said, pauses


def test_every_question_has_its_stage_and_its_time() -> None:
    said, _ = run(0.001, 0.001, 2, gpus=2)
    kinds = [line.get("stage") or f"{line['gpu']} {next(key for key in line if key != 'gpu')}" for line in said]
    assert kinds == [
        *("clocks of GPU 0", "GPU 0 sample", "clocks of GPU 1", "GPU 1 sample"),
        *("counters of GPU 0", "GPU 0 counters", "counters of GPU 1", "GPU 1 counters"),
        *("clocks of GPU 0", "GPU 0 sample", "clocks of GPU 1", "GPU 1 sample"),
    ]
    assert [line["sample"]["at"] for line in said if "sample" in line] == pytest.approx([100, 100.001, 100.05, 100.051])


def test_of_one_gpu_a_stage_is_told_only_where_it_changes() -> None:
    stages = [line["stage"] for line in run(0.001, 0.001, 5)[0] if "stage" in line]
    assert stages == ["clocks of GPU 0", "counters of GPU 0"] * 3


@pytest.mark.parametrize(
    ("took", "pause"), [(0.0, PERIOD), (0.01, PERIOD - 0.01), (0.025, 0.025), (0.04, 0.04), (0.4, 0.4)]
)
def test_at_least_half_of_the_time_is_slept(took: float, pause: float) -> None:
    assert run(took, 0.0, 2)[1][1] == pytest.approx(pause)


@pytest.mark.parametrize(("took", "least", "most"), [(0.0, 0.08, 0.101), (0.01, 0.5, 0.57), (0.3, 1.0, 1.4)])
def test_counters_are_read_as_often_as_the_driver_can_bear(took: float, least: float, most: float) -> None:
    times = [line["counters"]["at"] for line in run(0.001, took, 100)[0] if "counters" in line]
    gaps = [after - before - took for before, after in pairwise(times)]
    assert gaps
    assert all(least <= gap <= most for gap in gaps)


# -- NVIDIA --------------------------------------------------------------------------------------------------


def lines(folder: str, enough: int, pynvml: str | None = None, **env: str) -> list[dict[str, Any]]:
    """The first lines of the script, run as the parent runs it."""
    argv = [sys.executable, "-I", "-S", str(SCRIPT), str(SCRIPT.parent), "nvidia"]
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
    assert first == {"ecc_corrected": 99, "ecc_uncorrected": 2, "pcie_replays": 17, "others": 1}


@needs_gcc
def test_what_goes_wrong_at_the_start_is_told(folder: str) -> None:
    assert lines(folder, 99, STANDIN_NVML="18")[-1] == {"code": 18, "text": "Driver/library version mismatch"}
    assert lines(folder, 99, pynvml="")[-1] == {
        "no_module": "nvidia-ml-py cannot be imported: No module named 'pynvml'"
    }
    assert "not_loaded" in lines("/nonexistent", 99)[-1]


@needs_gcc
def test_a_gpu_without_a_handle_is_told_and_the_others_are_watched(folder: str) -> None:
    said = lines(folder, 15, STANDIN_GONE="0")
    assert {"gpu": "GPU 0", "refused": {"unknown": "NVML: GPU is lost"}} in said
    assert {line["gpu"] for line in said if "sample" in line} == {"GPU 1"}


@pytest.mark.parametrize("module", [watch, watch_nvidia, watch_amd, nvml])
def test_the_scripts_keep_to_python_3_8(module: Any) -> None:
    ast.parse(Path(module.__file__).read_text(), feature_version=(3, 8))


# -- AMD -----------------------------------------------------------------------------------------------------

MI210 = {
    "power/runtime_status": "active\n",
    "gpu_busy_percent": "3\n",
    "current_link_speed": "16.0 GT/s PCIe\n",
    "current_link_width": "16\n",
    "pcie_replay_count": "4\n",
    "hwmon/hwmon5/temp1_input": "41000\n",
    "hwmon/hwmon5/power1_average": "90000000\n",
    "hwmon/hwmon5/freq1_input": "1700000000\n",
    "hwmon/hwmon5/freq2_input": "1600000000\n",
    "ras/umc_err_count": "ue: 1\nce: 5\n",
    "ras/gfx_err_count": "ue: 2\nce: 0\n",
}
KFD = {"40/queues/0/gpuid": "777\n", "50/queues/0/gpuid": "888\n", "20/queues/3/gpuid": "777\n"}
SAMPLED = {
    "sm_clock": pytest.approx(1700),
    "memory_clock": pytest.approx(1600),
    "event_reasons": {"unknown": "amdgpu does not report throttle reasons in sysfs"},
    "temperature": 41,
    "power": 90,
    "utilization": 3,
    "link_generation": 4,
    "link_width": 16,
}


def write(folder: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return str(folder)


def amd(tmp_path: Path, changes: dict[str, str | None] | None = None, **of_gpu: Any) -> watch_amd.WatchedAmdGpu:
    """A GPU with some files changed, or left out."""
    files = {name: text for name, text in (MI210 | (changes or {})).items() if text is not None}
    folder = write(tmp_path / "gpu", files)
    plain = {"name": "GPU 0", "folder": folder, "link": folder, "kfd": 777}
    task = {"gpus": [plain | of_gpu], "processes": write(tmp_path / "kfd", KFD), "generations": {"16.0": 4}}
    (found,) = watch_amd.gpus(json.dumps(task), print)
    assert isinstance(found, watch_amd.WatchedAmdGpu)
    return found


def test_an_amd_gpu_is_sampled_in_our_units(tmp_path: Path, others: Others) -> None:
    gpu = amd(tmp_path)
    assert gpu.sample() == SAMPLED
    assert gpu.counters(others) == {"ecc_corrected": 5, "ecc_uncorrected": 3, "pcie_replays": 4, "others": 1}


@pytest.mark.parametrize(
    ("changes", "name", "value"),
    [
        ({"hwmon/hwmon5/temp1_input": None, "hwmon/hwmon5/temp2_input": "52000"}, "temperature", 52),
        ({"hwmon/hwmon5/power1_average": None, "hwmon/hwmon5/power1_input": "70000000"}, "power", 70),
        ({"hwmon/hwmon5/freq2_input": None, "pp_dpm_mclk": "0: 96Mhz\n1: 1000Mhz *\n"}, "memory_clock", 1000),
        ({"hwmon/hwmon5/freq2_input": None}, "memory_clock", "amdgpu reports no hwmon/hwmon5/freq2_input for this GPU"),
        ({"gpu_busy_percent": "?"}, "utilization", "amdgpu reports no gpu_busy_percent for this GPU"),
        ({"current_link_speed": "Unknown"}, "link_generation", "current_link_speed is Unknown"),
        ({"current_link_width": "255"}, "link_width", "current_link_width is 255"),
        ({"current_link_width": "0"}, "link_width", None),
        ({"current_link_speed": None, "current_link_width": None}, "link_generation", None),
        ({"ras/umc_err_count": None, "ras/gfx_err_count": None}, "ecc_corrected", None),
        ({"power/runtime_status": "suspended"}, "sm_clock", watch_amd.ASLEEP["unknown"]),
        ({"power/runtime_status": "suspended"}, "ecc_corrected", watch_amd.ASLEEP["unknown"]),
        ({"power/runtime_status": None}, "sm_clock", 1700),
    ],
)
def test_what_amdgpu_does_not_show(
    tmp_path: Path, others: Others, changes: dict[str, str | None], name: str, value: object
) -> None:
    gpu = amd(tmp_path, changes)
    told = (gpu.sample() | gpu.counters(others))[name]
    assert told == ({"unknown": value} if isinstance(value, str) else pytest.approx(value))


def test_a_link_that_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    gpu = amd(tmp_path, {"current_link_width": None})
    assert "cannot be read" in gpu.sample()["link_width"]["unknown"]


@pytest.mark.parametrize("of_gpu", [{"kfd": None}, {}])
def test_without_the_compute_driver_nobody_can_be_counted(
    tmp_path: Path, others: Others, of_gpu: dict[str, Any]
) -> None:
    gpu = amd(tmp_path, **of_gpu)
    if not of_gpu:
        (tmp_path / "kfd").rename(tmp_path / "away")
    assert "unknown" in gpu.counters(others)["others"]


def test_an_amd_gpu_that_is_not_shown_is_told(tmp_path: Path) -> None:
    said: list[dict[str, Any]] = []
    folders = ("gone", ".")
    gpus = [
        {"name": f"GPU {index}", "folder": str(tmp_path / folder), "link": "", "kfd": None}
        for index, folder in enumerate(folders)
    ]
    task = {"gpus": gpus, "processes": "", "generations": {}}
    assert [gpu.name for gpu in watch_amd.gpus(json.dumps(task), lambda **line: said.append(line))] == ["GPU 1"]
    assert said == [{"gpu": "GPU 0", "refused": {"unknown": f"{tmp_path}/gone is not shown here"}}]


def test_every_field_of_an_amd_sample_is_unknown_while_it_sleeps(tmp_path: Path) -> None:
    awake, asleep = amd(tmp_path).sample(), amd(tmp_path, {"power/runtime_status": "suspended"}).sample()
    assert awake.keys() == asleep.keys()
