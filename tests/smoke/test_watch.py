"""GPUs under watch: a driver that is well, one under load, one that fails, and those that stop answering."""

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpudoctor.child import ChildResult
from gpudoctor.facts import During, Facts, Gpu
from gpudoctor.machine import Machine
from gpudoctor.maybe import Unknown
from gpudoctor.probes.pci.link import GENERATIONS
from gpudoctor.recorded_machine import RecordedMachine
from gpudoctor.smoketests import watch as watching
from gpudoctor.smoketests.telemetry import nothing
from gpudoctor.smoketests.watch import Watch
from tests.builders import change, nvidia_host, plain_host
from tests.standins import clean_up, compile_into, left_running, needs_gcc

MARK = f"STANDIN_MARK=watch-{os.getpid()}"
FIRST, SECOND = "0000:01:00.0", "0000:02:00.0"
ALWAYS = (0.0, math.inf)
PATIENCE = 60.0  # seconds after which a test gives up: ten times what the slowest machine needs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_into(tmp_path_factory.mktemp("nvml"), "nvml", "-DDATACENTRE", "-DLIVE")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_into(tmp_path_factory.mktemp("plain"), "nvml")


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    end = time.monotonic() + PATIENCE  # one that does not listen is killed by a thread that outlives the watch
    while left_running(MARK) and time.monotonic() < end:
        time.sleep(0.02)
    left = left_running(MARK)
    clean_up(left)
    assert left == []


def watched(folder: str, gpus: int = 1, /, **env: str) -> Watch:
    """A watch over GPUs whose driver is a stand-in."""
    mark, _, value = MARK.partition("=")
    variables = {"LD_LIBRARY_PATH": folder, "PATH": "", "STANDIN_DEVICES": str(gpus), mark: value, **env}
    return Watch(Machine(env=variables), nvidia_host(gpus))


def until(watch: Watch, so: Callable[[During], bool], window: tuple[float, float] = ALWAYS) -> During:
    """What is told of the first GPU as soon as it is as wanted, or at the end of our patience."""
    end = time.monotonic() + PATIENCE
    while True:
        reported = watch.during(FIRST, window, ())
        if so(reported) or time.monotonic() > end:
            return reported


def some(reported: During) -> bool:
    return reported.samples >= 5


# -- a driver that answers -----------------------------------------------------------------------------------


@needs_gcc
def test_a_gpu_under_load_is_told_from_its_samples(folder: str) -> None:
    with watched(folder) as watch:
        reported = until(watch, some)
    count = reported.samples  # the stand-in counts its rounds: 10 MHz and a degree more in each, idle in the first
    assert (reported.sm_clock_min, reported.sm_clock) == (1020, 1000 + 10 * (count + 2) / 2)
    assert (reported.memory_clock, reported.temperature, reported.power, reported.reasons) == (
        2619,
        40 + count,
        30.5,
        (),
    )
    assert (reported.link_generation, reported.link_width) == (4, 8)


@needs_gcc
def test_a_counter_that_grows_is_seen_and_the_others_stand_still(folder: str) -> None:
    with watched(folder, STANDIN_ERRORS="3") as watch:
        assert watch.ready(PATIENCE)
        begun = time.monotonic()
        until(watch, some, (begun, math.inf))
        reported = until(watch, lambda reported: reported.ecc_corrected == 0, (begun, time.monotonic()))
    assert isinstance(reported.ecc_uncorrected, int)
    assert reported.ecc_uncorrected >= 3
    assert (reported.ecc_corrected, reported.pcie_replays) == (0, 0)


@needs_gcc
def test_the_counters_after_a_test_are_waited_for(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "LATE", PATIENCE)
    with watched(folder) as watch:
        assert watch.ready(PATIENCE)
        begun = time.monotonic()
        assert watch.during(FIRST, (begun, begun + 0.3), ()).pcie_replays == 0


@needs_gcc
def test_a_gpu_that_is_held_back_says_by_what(folder: str) -> None:
    with watched(folder, STANDIN_REASONS="68") as watch:
        assert until(watch, some).reasons == ("sw-power-cap", "hw-thermal-slowdown")


@needs_gcc
def test_what_a_gpu_has_not_is_none_and_what_the_driver_is_too_old_for_is_unknown(plain: str) -> None:
    with watched(plain) as watch:
        reported = until(watch, some)
    assert (reported.ecc_corrected, reported.ecc_uncorrected) == (None, None)
    assert reported.pcie_replays == Unknown("NVML: this driver is too old to report it")


@needs_gcc
@pytest.mark.parametrize(("pid", "others"), [("1", 1), (str(os.getpid()), 0)], ids=["a stranger", "we"])
def test_before_the_tests_only_others_count(folder: str, pid: str, others: int) -> None:
    with watched(folder, STANDIN_PID=pid) as watch:
        until(watch, some)
        assert watch.busy(FIRST, time.monotonic()) == (others, 7)
        missing = Unknown("the driver had not responded before the tests began")
        assert watch.busy(FIRST, 0.0) == (missing, missing)


@needs_gcc
def test_every_gpu_has_its_own_samples(folder: str) -> None:
    with watched(folder, 2, STANDIN_GONE="1") as watch:
        assert until(watch, some).power == 30.5
        assert watch.during(SECOND, ALWAYS, ()).power == Unknown("NVML: GPU is lost")


@needs_gcc
def test_what_was_sampled_outlives_the_watch(folder: str) -> None:
    with watched(folder) as watch:
        until(watch, some)
    reported = watch.during(FIRST, ALWAYS, ())
    assert reported.samples >= 5
    assert reported.ecc_corrected == Unknown("the counter was not read both before and after the test")


# -- one that fails ------------------------------------------------------------------------------------------


@needs_gcc
@pytest.mark.parametrize(
    ("env", "why"),
    [
        ({"STANDIN_NVML": "18"}, "nvmlInit failed with 18: Driver/library version mismatch"),
        ({"STANDIN_NVML_TROUBLE": "crash"}, "the child process was killed by SIGSEGV in stage init"),
        ({"STANDIN_NVML_TROUBLE": "exit"}, "the child process exited in stage init with code 7"),
        ({"STANDIN_DEVICES": "0"}, "it lists no GPU"),
    ],
)
def test_a_driver_that_does_not_start_says_why(folder: str, env: dict[str, str], why: str) -> None:
    with watched(folder, 1, **env) as watch:
        assert watch.ready(PATIENCE)
        assert watch.during(FIRST, ALWAYS, ()) == nothing(why)
        assert watch.busy(FIRST, time.monotonic()) == (Unknown(why), Unknown(why))


def test_a_driver_that_is_gone_says_so(tmp_path: Path) -> None:
    with watched(str(tmp_path)) as watch:
        assert watch.ready(PATIENCE)
        power = watch.during(FIRST, ALWAYS, ()).power
    assert isinstance(power, Unknown)
    assert "libnvidia-ml.so.1" in power.unknown


@needs_gcc
def test_a_gpu_that_falls_off_the_bus_keeps_what_it_told(folder: str) -> None:
    lost = Unknown("NVML: GPU is lost")
    with watched(folder, STANDIN_BAD="0", STANDIN_ROUNDS="4", STANDIN_GPU_CODE="15") as watch:
        assert until(watch, lambda reported: reported.samples >= 8).temperature == 43
        after = (time.monotonic(), math.inf)
        reported = until(watch, lambda reported: reported.ecc_uncorrected == lost, after)
    assert reported.power == reported.reasons == reported.pcie_replays == reported.ecc_uncorrected == lost


@needs_gcc
def test_a_gpu_beside_a_lost_one_is_watched(folder: str) -> None:
    with watched(folder, 2, STANDIN_BAD="1", STANDIN_GPU_CODE="15") as watch:
        reported = until(watch, some)
        assert reported.reasons == ()
        assert reported.temperature == 40 + reported.samples
        assert watch.busy(FIRST, time.monotonic())[0] == 1
        assert watch.during(SECOND, ALWAYS, ()).reasons == Unknown("NVML: GPU is lost")


@needs_gcc
@pytest.mark.parametrize("how", ["hang", "deaf", "stop"])
def test_a_driver_that_hangs_halfway_keeps_what_came_before(
    folder: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "STALLED", 0.5)
    why = Unknown("the driver stopped responding, asked for the state of GPU 1")
    with watched(folder, 2, STANDIN_BAD="1", STANDIN_ROUNDS="4", STANDIN_GPU_TROUBLE=how) as watch:
        assert until(watch, lambda reported: reported.ecc_corrected == why).temperature == 44
        assert watch.during(SECOND, ALWAYS, ()).temperature == 43
        assert watch.during(SECOND, (time.monotonic(), math.inf), ()) == nothing(why.unknown)
    assert watch.during(SECOND, ALWAYS, ()).ecc_corrected == why


@needs_gcc
def test_a_driver_that_hangs_at_the_start_names_the_stage(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "STALLED", 0.5)
    why = "the driver stopped responding, in stage init"
    with watched(folder, STANDIN_NVML_TROUBLE="hang") as watch:
        assert not watch.ready(0.1)
        assert until(watch, lambda reported: reported == nothing(why)).samples == 0


# -- who is watched ------------------------------------------------------------------------------------------


def recorded(
    facts: Facts, *lines: str, ended: ChildResult | None = None, **of_machine: Any
) -> tuple[RecordedMachine, Watch]:
    """A watch whose child has told some lines and ended."""
    out = "\n".join(lines) + "\n"
    answer = ended or ChildResult(argv=(), code=0, out=out)
    machine = RecordedMachine(commands={Path(sys.executable).name: answer}, **of_machine)
    watch = Watch(machine, facts)
    with watch:
        watch.ready(PATIENCE)
    return machine, watch


def test_without_a_gpu_nothing_is_started() -> None:
    machine, watch = recorded(plain_host())
    assert machine.ran == []
    assert watch.during(FIRST, ALWAYS, ()) == nothing("this GPU is not visible to any driver")
    assert watch.busy(FIRST, 1.0) == (Unknown("this GPU is not visible to any driver"),) * 2


def test_a_test_on_the_cpu_or_on_several_gpus_has_no_samples() -> None:
    assert recorded(nvidia_host())[1].during(None, ALWAYS, ()) == nothing("the test did not run on one GPU")


@pytest.mark.parametrize(
    ("ended", "why"),
    [
        (ChildResult(argv=(), missing="Permission denied"), "it was not run: Permission denied"),
        (ChildResult(argv=(), cancelled=True), "the run was canceled"),
        (ChildResult(argv=(), timed_out=True, signal="SIGTERM"), "the run was out of time"),
    ],
)
def test_a_child_that_could_not_run_says_why(ended: ChildResult, why: str) -> None:
    assert recorded(nvidia_host(), ended=ended)[1].during(FIRST, ALWAYS, ()) == nothing(why)


def test_a_gpu_without_an_address_is_watched_by_its_index() -> None:
    facts = change(nvidia_host(), "gpus", (Gpu(vendor="nvidia", index=3),))
    line = '{"gpu": "GPU 3", "sample": {"at": 1, "power": 9}}'
    assert recorded(facts, line)[1].during("nvidia 3", ALWAYS, ()).power == 9


# -- AMD -----------------------------------------------------------------------------------------------------

NODES = "/sys/class/kfd/kfd/topology/nodes"
CARD = "/sys/devices/pci0000:00/0000:00:01.0/0000:02:00.0/0000:03:00.0"
SYSFS = {
    f"{NODES}/0/properties": "cpu_cores_count 16\ndrm_render_minor 0",
    f"{NODES}/0/gpu_id": "0",
    f"{NODES}/1/properties": "simd_count 416\ndrm_render_minor 128",
    f"{NODES}/1/gpu_id": "51234",
    f"{CARD}/vendor": "0x1002",
    "/sys/devices/pci0000:00/0000:00:01.0/0000:02:00.0/class": "0x060400",
    "/sys/devices/pci0000:00/0000:00:01.0/0000:02:00.0/vendor": "0x1002",
}
PARTITIONS = tuple(
    Gpu(vendor="amd", index=index, address="0000:03:00.0", render_node=f"/dev/dri/renderD{128 + index}")
    for index in range(2)
)


def test_amds_gpus_are_watched_once_each_at_the_function_that_faces_the_slot() -> None:
    facts = change(plain_host(), "gpus", PARTITIONS)
    line = '{"gpu": "GPU 0", "sample": {"at": 1, "power": 90.0}}'
    machine, watch = recorded(facts, line, files=SYSFS, links={"/sys/bus/pci/devices/0000:03:00.0": CARD})
    (ran,) = machine.ran
    assert json.loads(ran.partition(" amd ")[2]) == {
        "gpus": [
            {
                "name": "GPU 0",
                "folder": "/sys/bus/pci/devices/0000:03:00.0",
                "link": "/sys/devices/pci0000:00/0000:00:01.0/0000:02:00.0",
                "kfd": 51234,
            }
        ],
        "users": "/sys/class/kfd/kfd/proc",
        "generations": GENERATIONS,
    }
    assert watch.during("0000:03:00.0", ALWAYS, ()).power == 90.0


def test_the_compute_drivers_number_of_a_gpu_may_be_unknown() -> None:
    machine, _ = recorded(change(plain_host(), "gpus", PARTITIONS[1:]), files=SYSFS)
    assert '"kfd":null' in machine.ran[0]


def test_each_vendors_driver_has_a_child_of_its_own() -> None:
    facts = change(nvidia_host(), "gpus", (*nvidia_host().gpus, *PARTITIONS))  # type: ignore[misc]
    machine, _ = recorded(facts, files=SYSFS)
    assert sorted(line.split("/workers fast ")[1].split(" ")[1] for line in machine.ran) == ["amd", "nvidia"]


@needs_gcc
def test_a_driver_that_hangs_leaves_the_other_vendors_gpus_watched(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark, _, value = MARK.partition("=")
    machine = Machine(env={"LD_LIBRARY_PATH": folder, "PATH": "", mark: value, "STANDIN_NVML_TROUBLE": "hang"})
    (tmp_path / "gpu_busy_percent").write_text("5")
    task = {"gpus": [{"name": "GPU 0", "folder": str(tmp_path), "link": str(tmp_path), "kfd": None}]}
    monkeypatch.setattr(watching, "amd_task", lambda *_: json.dumps({**task, "users": "", "generations": {}}))
    with Watch(machine, change(nvidia_host(), "gpus", (*nvidia_host().gpus, *PARTITIONS))) as watch:  # type: ignore[misc]
        end = time.monotonic() + PATIENCE
        while watch.during("0000:03:00.0", ALWAYS, ()).samples < 3 and time.monotonic() < end:
            pass
        assert watch.busy("0000:03:00.0", time.monotonic())[1] == 5
        assert watch.during(FIRST, ALWAYS, ()).samples == 0


def test_what_our_workers_did_before_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked again and again about one worker, and then about the next."""
    asked: list[object] = []
    _, watch = recorded(nvidia_host())
    fake = SimpleNamespace(names={FIRST: "nvidia 0"}, busy=lambda gpu, before, ours: asked.append(ours))
    monkeypatch.setattr(watch, "_samplers", [fake])
    monkeypatch.setattr(watching, "time", SimpleNamespace(monotonic=iter((5.0, 6.0, 9.0)).__next__))
    for before in (1.0, 1.0, 8.0):
        watch.busy(FIRST, before)
    assert asked == [[], [], [(1.0, 6.0)]]
