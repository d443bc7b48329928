"""What the probe of NVML makes of every way in which the driver or one GPU answers, or does not."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudoctor.child import ChildResult
from gpudoctor.facts import DriverLibrary, Gpu, GpuProcess, Host, Nvml
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.probes.nvidia import nvml
from gpudoctor.recorded_machine import RecordedMachine
from tests.standins import clean_up, compile_into, left_running, needs_gcc

SOME = (DriverLibrary(soname="libnvidia-ml.so.1", path="/x/libnvidia-ml.so.1", real="/x/libnvidia-ml.so.1"),)
ONE_GPU = '{"code": 0, "count": 1}\n{"gpu": {"index": 0, "status": "ok", "address": "0000:01:00.0"}}\n'
MARK = f"STANDIN_MARK=nvml-{os.getpid()}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_into(tmp_path_factory.mktemp("nvml"), "nvml")


@pytest.fixture(scope="module")
def datacentre(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_into(tmp_path_factory.mktemp("datacentre"), "nvml", "-DDATACENTRE")


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    left = left_running(MARK)
    clean_up(left)
    assert left == []


def asked(folder: str, seconds: float = 8, **env: str) -> tuple[Nvml, Maybe[tuple[Gpu, ...]]]:
    mark, _, value = MARK.partition("=")
    machine = Machine(env={"LD_LIBRARY_PATH": folder, "PATH": "", mark: value, **env})
    return nvml.probe(machine, SOME, Host(), seconds)


def all_of(gpus: Maybe[tuple[Gpu, ...]]) -> tuple[Gpu, ...]:
    assert isinstance(gpus, tuple)
    return gpus


@needs_gcc
def test_a_healthy_driver_tells_its_versions(folder: str) -> None:
    said, gpus = asked(folder)
    assert (said.code, said.driver_version, said.cuda_version, said.count) == (0, "550.54.14", "12.4", 2)
    assert (said.loaded, said.hung, said.died) == (f"{folder}/libnvidia-ml.so.1", None, None)
    assert [gpu.index for gpu in all_of(gpus)] == [0, 1]


@needs_gcc
def test_a_healthy_gpu_is_told_in_our_units(folder: str) -> None:
    gpu = all_of(asked(folder)[1])[1]
    assert (gpu.vendor, gpu.status, gpu.name, gpu.address) == (
        "nvidia",
        "ok",
        "NVIDIA GeForce RTX 4091",
        "0000:0b:00.0",
    )
    assert (gpu.chip, gpu.generation, gpu.capability, gpu.gfx, gpu.integrated) == ("AD102", "Ada", "8.9", None, False)
    assert (gpu.memory, gpu.memory_used) == (24 << 30, 1 << 30)
    assert (gpu.power, gpu.power_limit, gpu.temperature, gpu.temperature_slowdown) == (30.5, 450.0, 40, 95)
    assert gpu.power_max == 600
    assert (gpu.link_generation, gpu.link_generation_max, gpu.link_width, gpu.link_width_max) == (1, 4, 8, 16)
    assert (gpu.compute_mode, gpu.persistence, gpu.performance_state) == ("exclusive-process", True, 8)


@needs_gcc
def test_the_old_name_of_the_event_reasons_is_asked_too(folder: str) -> None:
    assert all_of(asked(folder)[1])[0].event_reasons == ("sw-power-cap", "hw-thermal-slowdown", "bit-47")


@needs_gcc
def test_what_is_not_supported_does_not_exist(folder: str) -> None:
    gpu = all_of(asked(folder)[1])[0]
    assert (gpu.ecc, gpu.ecc_uncorrected, gpu.mig, gpu.mig_devices, gpu.fabric_state) == (None,) * 5
    assert gpu.nvlinks is None


@needs_gcc
def test_what_the_library_is_too_old_for_is_unknown(folder: str) -> None:
    gpu = all_of(asked(folder)[1])[0]
    assert (
        gpu.remapped_uncorrected
        == gpu.recovery_action
        == gpu.serial
        == Unknown("NVML: this driver is too old to report it")
    )


@needs_gcc
def test_an_error_of_one_question_stays_with_it(folder: str) -> None:
    gpu = all_of(asked(folder, STANDIN_POWER="999")[1])[0]
    assert (gpu.power, gpu.power_limit, gpu.status) == (Unknown("NVML: Unknown Error"), 450.0, "ok")


@needs_gcc
def test_links_end_where_nvml_ends_them(folder: str) -> None:
    assert all_of(asked(folder, STANDIN_LINKS="3")[1])[0].nvlinks == (True, False, False)


@needs_gcc
def test_a_gpu_without_memory_of_its_own_is_integrated(folder: str) -> None:
    gpu = all_of(asked(folder, STANDIN_UNIFIED="1")[1])[0]
    assert (gpu.memory, gpu.memory_used, gpu.integrated) == (None, None, True)


@needs_gcc
def test_a_data_centre_gpu_tells_its_health(datacentre: str) -> None:
    gpu = all_of(asked(datacentre)[1])[0]
    assert (gpu.ecc, gpu.ecc_pending, gpu.ecc_uncorrected, gpu.ecc_uncorrected_total) == (True, False, 2, 5)
    assert (gpu.remapped_corrected, gpu.remapped_uncorrected) == (1, 3)
    assert (gpu.remap_pending, gpu.remap_failed) == (True, False)
    assert (gpu.retired_pending, gpu.pcie_replays, gpu.serial) == (True, 17, "1650123450")
    assert (gpu.recovery_action, gpu.virtualization) == ("drain-and-reset", "passthrough")


@needs_gcc
def test_a_data_centre_gpu_tells_its_fabric_and_mig_devices(datacentre: str) -> None:
    gpu = all_of(asked(datacentre)[1])[0]
    assert (gpu.fabric_state, gpu.fabric_status) == ("in-progress", 0)
    assert (gpu.mig, gpu.mig_pending) == (True, True)
    assert gpu.mig_devices == tuple(f"GPU-00000000-0000-0000-0000-00000000000{slot}" for slot in (5, 7))


@needs_gcc
def test_what_is_rarely_ill_is_asked_too(folder: str, datacentre: str) -> None:
    gpu = all_of(asked(folder)[1])[0]
    assert (gpu.fans, gpu.temperature_shutdown, gpu.temperature_memory_max) == ((30, 31), 99, 99)
    assert (gpu.application_clock, gpu.application_clock_default) == (1980, 2520)
    assert gpu.temperature_memory == Unknown("NVML: this driver is too old to report it")
    assert all_of(asked(folder, STANDIN_FANS="0")[1])[0].fans is None
    # What the GPU has not is not asked about.
    assert (gpu.ecc_corrected, gpu.banks_without_spares, gpu.sram_threshold) == (None,) * 3
    assert (gpu.nvlink_replays, gpu.nvlink_recoveries, gpu.nvlink_crc) == (None,) * 3
    assert (gpu.fabric_health, gpu.fabric_of_several) == (None, None)
    gpu = all_of(asked(datacentre, STANDIN_LINKS="2")[1])[0]
    assert (gpu.temperature_memory, gpu.nvlink_replays, gpu.nvlink_recoveries, gpu.nvlink_crc) == (82, 52, 59, 45)
    assert (gpu.ecc_corrected, gpu.banks_without_spares, gpu.sram_threshold, gpu.inforom) == (99, 2, True, True)
    assert gpu.fabric_health == ("degraded-bandwidth", "insufficient-nvlinks")
    assert gpu.fabric_of_several is True


@needs_gcc
def test_thresholds_that_are_margins_become_degrees(folder: str, datacentre: str) -> None:
    gpu = all_of(asked(datacentre, STANDIN_MARGIN="30")[1])[0]
    assert isinstance(gpu.temperature, int)
    # 30 degrees are left; it slows down 2 degrees past the limit, and shuts down 8 past it.
    assert gpu.temperature_operating_max == gpu.temperature + 30
    assert (gpu.temperature_slowdown, gpu.temperature_shutdown) == (gpu.temperature + 32, gpu.temperature + 38)
    unread = all_of(asked(folder, STANDIN_MARGIN="30")[1])[0]  # margins, and a driver without the fields
    assert (unread.temperature_slowdown, unread.temperature_shutdown) == (None, None)
    assert unread.temperature_operating_max is None


@needs_gcc
@pytest.mark.parametrize(("reported", "fact"), [("83", 83), ("0", None), ("-1", None)])
def test_a_threshold_that_is_no_temperature_is_none(folder: str, reported: str, fact: int | None) -> None:
    assert all_of(asked(folder, STANDIN_GPU_MAX=reported)[1])[0].temperature_operating_max == fact


@needs_gcc
def test_nvlink_5_counts_the_recoveries_of_each_link(datacentre: str) -> None:
    gpu = all_of(asked(datacentre, STANDIN_LINKS="2", STANDIN_NVLINK5="1")[1])[0]
    assert (gpu.nvlinks, gpu.nvlink_replays, gpu.nvlink_recoveries) == ((True, False), None, 7)


@needs_gcc
@pytest.mark.parametrize(("summary", "health"), [("1", ()), ("2", ("unhealthy",)), ("3", ("limited-capacity",))])
def test_the_fabrics_health_in_sum(datacentre: str, summary: str, health: tuple[str, ...]) -> None:
    assert all_of(asked(datacentre, STANDIN_SUMMARY=summary)[1])[0].fabric_health == health


@needs_gcc
def test_a_broken_inforom_is_no_error_of_the_question(datacentre: str) -> None:
    gpu = all_of(asked(datacentre, STANDIN_INFOROM="14")[1])[0]
    assert (gpu.inforom, gpu.status) == (False, "ok")
    assert all_of(asked(datacentre, STANDIN_INFOROM="3")[1])[0].inforom is None


@needs_gcc
@pytest.mark.parametrize(
    ("feature", "several", "reported"),
    [("0", "0", (False, None)), ("1", "0", (True, False)), ("0", "1", (True, False)), ("1", "2", (True, False))],
)
def test_confidential_computing(
    datacentre: str, feature: str, several: str, reported: tuple[bool, bool | None]
) -> None:
    said, _ = asked(datacentre, STANDIN_CONFIDENTIAL=feature, STANDIN_PROTECTED_PCIE=several)
    assert (said.confidential, said.accepts_work) == reported


@needs_gcc
def test_an_old_driver_knows_no_confidential_computing(folder: str) -> None:
    said, _ = asked(folder)
    assert said.confidential == said.accepts_work == Unknown("NVML: this driver is too old to report it")


@needs_gcc
def test_a_gpu_without_its_power_cable_says_so(folder: str) -> None:
    gpu = all_of(asked(folder, STANDIN_GONE="1", STANDIN_GONE_CODE="8")[1])[1]
    assert gpu.status == "no-power"


@needs_gcc
@pytest.mark.parametrize(
    ("code", "answer"),
    [(2, Unknown("NVML: this driver is too old to report it")), (3, None), (999, Unknown("NVML: Unknown Error"))],
)
def test_a_field_that_fails_is_judged_by_its_own_code(datacentre: str, code: int, answer: object) -> None:
    assert all_of(asked(datacentre, STANDIN_FIELD=str(code))[1])[0].recovery_action == answer


@needs_gcc
def test_processes_get_their_names_from_proc(folder: str) -> None:
    own = os.getpid()
    processes = all_of(asked(folder, STANDIN_PID=str(own))[1])[0].processes
    name = Path(f"/proc/{own}/comm").read_text().strip()
    assert isinstance(processes, tuple)
    assert (processes[0].pid, processes[0].memory, processes[0].name) == (own, 1 << 30, name)
    assert (processes[0].user, processes[0].state in ("R", "S")) == (os.geteuid(), True)


@needs_gcc
def test_a_process_of_another_pid_namespace_has_no_name(folder: str) -> None:
    processes = all_of(asked(folder, STANDIN_PID=str(1 << 30))[1])[0].processes
    assert processes == (GpuProcess(pid=1 << 30, memory=1 << 30, name=None, user=None, state=None),)


@needs_gcc
@pytest.mark.parametrize(
    ("code", "text"),
    [
        (4, "Insufficient Permissions"),
        (9, "Driver Not Loaded"),
        (17, "GPU access blocked by the operating system"),
        (18, "Driver/library version mismatch"),
        (999, "Unknown Error"),
    ],
)
def test_a_refusal_keeps_code_and_words(folder: str, code: int, text: str) -> None:
    said, gpus = asked(folder, STANDIN_NVML=str(code))
    assert (said.code, said.text, said.hung, said.died) == (code, text, None, None)
    assert said.count == gpus == Unknown(f"nvmlInit failed with {code}: {text}")


@needs_gcc
def test_no_gpu_at_all_is_an_empty_list(folder: str) -> None:
    said, gpus = asked(folder, STANDIN_DEVICES="0")
    assert (said.count, gpus) == (0, ())


@needs_gcc
def test_a_lost_gpu_does_not_hide_the_other(folder: str) -> None:
    first, second = all_of(asked(folder, STANDIN_BAD="1", STANDIN_GPU_CODE="15")[1])
    assert (first.status, second.status) == ("ok", "lost")
    assert (second.name, second.address) == ("NVIDIA GeForce RTX 4091", "0000:0b:00.0")
    assert second.power == second.processes == Unknown("NVML: GPU is lost")


@needs_gcc
def test_a_gpu_without_a_handle_is_listed(folder: str) -> None:
    first, second = all_of(asked(folder, STANDIN_GONE="1")[1])
    assert (first.status, second.status, second.index) == ("ok", "lost", 1)
    assert second.name == second.memory == Unknown("NVML: GPU is lost")


@needs_gcc
def test_a_gpu_that_needs_a_reset_says_so(folder: str) -> None:
    gpu = all_of(asked(folder, STANDIN_BAD="0", STANDIN_GPU_CODE="16")[1])[0]
    assert (gpu.status, gpu.temperature) == ("reset-required", Unknown("NVML: GPU requires reset"))


@needs_gcc
@pytest.mark.parametrize("trouble", ["sleep", "stop", "deaf"])
def test_a_hang_at_the_start_is_named(folder: str, trouble: str) -> None:
    start = time.monotonic()
    said, gpus = asked(folder, 0.5, STANDIN_NVML_TROUBLE=trouble)
    assert time.monotonic() - start < 3
    assert (said.hung, said.died, said.loaded) == ("init", None, f"{folder}/libnvidia-ml.so.1")
    assert said.code == gpus == Unknown("no response in stage init within 0.5 s")


@needs_gcc
def test_a_hang_on_one_gpu_keeps_the_others(folder: str) -> None:
    said, gpus = asked(folder, 4.0, STANDIN_DEVICES="2", STANDIN_BAD="1", STANDIN_GPU_TROUBLE="sleep")
    first, second = all_of(gpus)
    why = Unknown("no response in stage gpu 1 within 4 s")
    assert (said.hung, said.code, said.count) == ("gpu 1", 0, 2)
    assert (first.status, first.power) == ("ok", 30.5)
    assert second.status == second.power == why


@needs_gcc
def test_a_crash_is_named_with_its_stage(folder: str) -> None:
    said, _ = asked(folder, STANDIN_NVML_TROUBLE="crash")
    assert (said.died, said.code) == ("SIGSEGV", Unknown("the child process was killed by SIGSEGV in stage init"))


def test_no_library_starts_no_child() -> None:
    machine = RecordedMachine()
    said, gpus = nvml.probe(machine, (), Host())
    assert (said.code, said.text, machine.ran) == (None, "there is no libnvidia-ml.so.1", [])
    assert gpus == Unknown("there is no libnvidia-ml.so.1")


def test_an_empty_library_is_told_in_the_loaders_words(tmp_path: Path) -> None:
    (tmp_path / "libnvidia-ml.so.1").touch()
    said, _ = asked(str(tmp_path))
    assert (said.code, said.text) == (None, f"{tmp_path}/libnvidia-ml.so.1: file too short")


def test_nvidia_smi_off_path_is_found() -> None:
    machine = RecordedMachine({"/usr/local/nvidia/bin/nvidia-smi": ""}, env={"PATH": "/opt/x/bin"})
    said, _ = nvml.probe(machine, (), Host())
    assert (said.smi, said.smi_elsewhere) == (None, "/usr/local/nvidia/bin/nvidia-smi")


def test_nvidia_smi_on_path_is_enough() -> None:
    machine = RecordedMachine({"/usr/bin/nvidia-smi": ""}, env={"PATH": "/usr/bin"})
    said, _ = nvml.probe(machine, (), Host())
    assert (said.smi, said.smi_elsewhere) == ("/usr/bin/nvidia-smi", None)


def test_wsl_has_no_place_in_sysfs() -> None:
    machine = RecordedMachine(commands={Path(sys.executable).name: ONE_GPU})
    gpu = all_of(nvml.probe(machine, SOME, Host(wsl=2))[1])[0]
    assert (gpu.numa_node, gpu.render_node) == (None, None)


def test_the_kernel_tells_numa_and_render_node() -> None:
    files = {"/sys/bus/pci/devices/0000:01:00.0/numa_node": "1\n"}
    drm = ["/sys/bus/pci/devices/0000:01:00.0/drm/card1", "/sys/bus/pci/devices/0000:01:00.0/drm/renderD129"]
    machine = RecordedMachine(files, folders=drm, commands={Path(sys.executable).name: ONE_GPU})
    gpu = all_of(nvml.probe(machine, SOME, Host(wsl=None))[1])[0]
    assert (gpu.numa_node, gpu.render_node) == (1, "/dev/dri/renderD129")


def test_the_one_lost_gpu_gets_the_address_that_is_left_over() -> None:
    reported = """{"code": 0, "count": 2}
{"gpu": {"index": 0, "status": "lost", "error": {"unknown": "NVML: GPU is lost"}}}
{"gpu": {"index": 1, "status": "ok", "address": "0000:02:00.0"}}
"""
    folders = [f"/proc/driver/nvidia/gpus/0000:0{bus}:00.0" for bus in (1, 2)]
    machine = RecordedMachine(folders=folders, commands={Path(sys.executable).name: reported})
    gpus = all_of(nvml.probe(machine, SOME, Host())[1])
    assert [gpu.address for gpu in gpus] == ["0000:01:00.0", "0000:02:00.0"]
    assert gpus[0].generation == Unknown("NVML: GPU is lost")


@pytest.mark.parametrize(
    ("ended", "inforom"),
    [
        (
            ChildResult(argv=("nvidia-smi",), code=14, out="WARNING: infoROM is corrupted at gpu 00000000:01:00.0\n"),
            False,
        ),
        (ChildResult(argv=("nvidia-smi",), code=14, out="WARNING: infoROM is corrupted at gpu 0000:02:00.0\n"), True),
        (ChildResult(argv=("nvidia-smi",), code=0, out="+----+\n"), True),
        (
            ChildResult(argv=("nvidia-smi",), code=9, out="NVIDIA-SMI has failed\n"),
            Unknown("NVML: this driver is too old to report it"),
        ),
    ],
)
def test_nvidia_smi_validates_what_an_old_nvml_cannot(ended: ChildResult, inforom: object) -> None:
    old = Gpu(
        vendor="nvidia",
        index=0,
        address="0000:01:00.0",
        ecc=True,
        inforom=Unknown("NVML: this driver is too old to report it"),
    )
    [gpu] = nvml._checked_by_smi(RecordedMachine({}, commands={"nvidia-smi": ended}), (old,))
    assert gpu.inforom == inforom
