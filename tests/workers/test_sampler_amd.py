"""What the sampler reads of AMD's driver, out of files as sysfs has them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.probes.staged_child import module_folder
from gpudoctor.workers import sampler, sampler_amd
from gpudoctor.workers.sampler import ProcessTable

SCRIPT = Path(sampler.__file__)
PSUTIL = module_folder("psutil")

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
    "event_reasons": {"unknown": "amdgpu does not report in sysfs what limits the clocks"},
    "temperature": 41,
    "power": 90,
    "utilization": 3,
    "link_generation": 4,
    "link_width": 16,
}


class Counted(ProcessTable):
    """Processes of which one is not ours."""

    def __init__(self) -> None:
        super().__init__(1, PSUTIL)
        self._ours |= {10, 20, 30}

    def _parent(self, pid: int) -> int:
        return 0


def write(folder: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return str(folder)


def amd(tmp_path: Path, changes: dict[str, str | None] | None = None, **of_gpu: Any) -> sampler_amd.SampledAmdGpu:
    """A GPU with some files changed, or left out."""
    files = {name: text for name, text in (MI210 | (changes or {})).items() if text is not None}
    folder = write(tmp_path / "gpu", files)
    plain = {"name": "GPU 0", "folder": folder, "link": folder, "kfd": 777}
    task = {"gpus": [plain | of_gpu], "users": write(tmp_path / "kfd", KFD), "generations": {"16.0": 4}}
    (found,) = sampler_amd.gpus(json.dumps(task), print, Counted())
    assert isinstance(found, sampler_amd.SampledAmdGpu)
    return found


def test_an_amd_gpu_is_sampled_in_our_units(tmp_path: Path) -> None:
    gpu = amd(tmp_path)
    assert gpu.sample() == SAMPLED
    assert gpu.counters() == {
        "ecc_corrected": 5,
        "ecc_uncorrected": 3,
        "pcie_replays": 4,
        "others": 1,
        **sampler_amd.NO_NVLINK,
    }


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
        ({"power/runtime_status": "suspended"}, "sm_clock", sampler_amd.ASLEEP["unknown"]),
        ({"power/runtime_status": "suspended"}, "ecc_corrected", sampler_amd.ASLEEP["unknown"]),
        ({"power/runtime_status": None}, "sm_clock", 1700),
    ],
)
def test_what_amdgpu_does_not_show(tmp_path: Path, changes: dict[str, str | None], name: str, value: object) -> None:
    gpu = amd(tmp_path, changes)
    reported = (gpu.sample() | gpu.counters())[name]
    assert reported == ({"unknown": value} if isinstance(value, str) else pytest.approx(value))


def test_next_to_a_program_only_utilization_and_memory_are_read(tmp_path: Path) -> None:
    gpu = amd(tmp_path)
    full = gpu.full_sample()
    assert gpu.usage() == {name: full[name] for name in ("utilization", "memory_used")}
    (tmp_path / "asleep").mkdir()
    asleep = amd(tmp_path / "asleep", {"power/runtime_status": "suspended"})
    assert asleep.usage() == dict.fromkeys(("utilization", "memory_used"), sampler_amd.ASLEEP)


def test_a_link_that_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    gpu = amd(tmp_path, {"current_link_width": None})
    assert "cannot be read" in gpu.sample()["link_width"]["unknown"]


@pytest.mark.parametrize("of_gpu", [{"kfd": None}, {}])
def test_without_the_compute_driver_nobody_can_be_counted(tmp_path: Path, of_gpu: dict[str, Any]) -> None:
    gpu = amd(tmp_path, **of_gpu)
    if not of_gpu:
        (tmp_path / "kfd").rename(tmp_path / "away")
    assert "unknown" in gpu.counters()["others"]


def test_an_amd_gpu_that_is_not_shown_is_told(tmp_path: Path) -> None:
    said: list[dict[str, Any]] = []
    folders = ("gone", ".")
    gpus = [
        {"name": f"GPU {index}", "folder": str(tmp_path / folder), "link": "", "kfd": None}
        for index, folder in enumerate(folders)
    ]
    task = {"gpus": gpus, "users": "", "generations": {}}
    assert [gpu.name for gpu in sampler_amd.gpus(json.dumps(task), lambda **line: said.append(line), Counted())] == [
        "GPU 1"
    ]
    assert said == [{"gpu": "GPU 0", "refused": {"unknown": f"{tmp_path}/gone is not shown here"}}]


def test_every_field_of_an_amd_sample_is_unknown_while_it_sleeps(tmp_path: Path) -> None:
    awake, asleep = amd(tmp_path).sample(), amd(tmp_path, {"power/runtime_status": "suspended"}).sample()
    assert awake.keys() == asleep.keys()


MONITORED: dict[str, str | None] = {"mem_info_vram_used": "1024", "hwmon/hwmon5/pwm1": "128"}


def test_the_slow_rate_has_memory_fan_and_processes(tmp_path: Path) -> None:
    gpu = amd(tmp_path, MONITORED)
    (tmp_path / "kfd/40/vram_777").write_text("4096\n")
    reported = gpu.full_sample()
    assert (reported["utilization"], reported["memory_used"], reported["fan"]) == (3, 1024, 50)
    assert reported["pcie_rx"] == sampler_amd.NO_TRAFFIC
    assert gpu.device() == {"pcie_replays": 4}
    unread = {"unknown": f"{tmp_path}/kfd/20/vram_777 cannot be read"}
    assert [(one["pid"], one["kind"], one["memory"]) for one in gpu.processes()] == [(20, "C", unread), (40, "C", 4096)]
    assert amd(tmp_path, kfd=None).processes() == sampler_amd.NOBODY


def test_a_sleeping_gpu_is_not_woken_and_one_without_a_fan_has_none(tmp_path: Path) -> None:
    gpu = amd(tmp_path, {"power/runtime_status": "suspended"})
    assert (gpu.full_sample()["memory_used"], gpu.device()) == (sampler_amd.ASLEEP, {})
    assert amd(tmp_path, {"hwmon/hwmon5/pwm1": "no number"}).full_sample()["fan"] is None


def test_the_script_reports_amds_gpus(tmp_path: Path) -> None:
    amd(tmp_path, MONITORED)
    place = str(tmp_path / "gpu")
    each = [
        {"name": "GPU 0", "folder": place, "link": place, "kfd": 777},
        {"name": "GPU 1", "folder": "/nowhere", "link": "", "kfd": None},
    ]
    task = json.dumps({"gpus": each, "users": str(tmp_path / "kfd"), "generations": {"16.0": 4}})
    argv = [sys.executable, "-I", "-S", str(SCRIPT), str(SCRIPT.parent), "slow", PSUTIL, "amd", task]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        said = [json.loads(line) for line, _ in zip(child.stdout, range(8), strict=False)]
        child.terminate()
    assert said[0] == {"gpu": "GPU 1", "refused": {"unknown": "/nowhere is not shown here"}}
    assert [line["sample"]["memory_used"] for line in said if "sample" in line] == [1024]
