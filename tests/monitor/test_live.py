"""The real sampler against a stand-in for NVML: one that answers, those that fail, those that stop answering."""

import os
import pwd
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpudoctor.child import end_all
from gpudoctor.machine import Machine
from gpudoctor.maybe import Unknown
from gpudoctor.monitor import sampler as sampling
from gpudoctor.monitor.live import LiveSource
from gpudoctor.monitor.snapshot import LIVE, Snapshot
from gpudoctor.sampling.lines import Slice
from tests.standins import clean_up, compile_into, left_running, needs_gcc

MARK = f"STANDIN_MARK=monitor-{os.getpid()}"
PATIENCE = 60.0  # seconds after which a test gives up

pytestmark = needs_gcc


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_into(tmp_path_factory.mktemp("nvml"), "nvml", "-DDATACENTRE", "-DLIVE")


def gone() -> list[int]:
    """What is still running, after some patience."""
    end = time.monotonic() + PATIENCE
    while (left := left_running(MARK)) and time.monotonic() < end:
        time.sleep(0.02)
    return left


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    left = gone()
    clean_up(left)
    assert left == []


@pytest.fixture
def live(folder: str) -> Iterator[Callable[..., LiveSource]]:
    """Makes a source whose driver is a stand-in; it is stopped at the end."""
    made: list[LiveSource] = []

    def make(place: str = folder, **env: str) -> LiveSource:
        mark, _, value = MARK.partition("=")
        variables = {"LD_LIBRARY_PATH": place, "PATH": "", mark: value, **env}
        made.append(LiveSource(lambda: Machine(env=variables)))
        made[-1].start()
        return made[-1]

    yield make
    for source in made:
        source.stop()


def until(source: LiveSource, so: Callable[[Snapshot], object]) -> Snapshot:
    """The first look that is as wanted, or the last one of our patience."""
    end = time.monotonic() + PATIENCE
    while True:
        look = source.look()
        if so(look) or time.monotonic() > end:
            return look
        time.sleep(0.02)


def sampled(look: Snapshot) -> bool:
    return bool(look.devices) and all(gpu.samples and gpu.processes != Unknown("not reported") for gpu in look.devices)


def test_every_gpu_tells_who_it_is_how_it_does_and_who_uses_it(live: Callable[..., LiveSource]) -> None:
    look = until(live(STANDIN_REASONS="68"), sampled)
    assert (look.kind, look.troubles, look.waiting) == (LIVE, (), False)
    first, second = look.devices
    assert (first.key, second.key, second.device.name) == ("nvidia 0", "nvidia 1", "NVIDIA GeForce RTX 4091")
    assert (first.device.address, first.device.power_limit, first.device.link_width_max) == ("0000:0a:00.0", 450.0, 16)
    assert first.device.memory == 24 << 30
    slices = first.device.mig_devices
    assert isinstance(slices, tuple)
    assert [(one.memory, one.memory_used) for one in slices] == [(24 << 30, 1 << 30)] * 2
    assert isinstance(slices[0], Slice)
    last = first.samples[0]
    assert (last.memory_used, last.power, last.utilization, last.performance_state) == (1 << 30, 30.5, 7, 8)
    assert last.fan == last.pcie_rx == Unknown("NVML: this driver is too old to report it")
    assert isinstance(first.processes, tuple)
    assert [(p.pid, p.kind, p.memory) for p in first.processes] == [(1, "C", 1 << 30)]


def test_a_process_of_a_local_user_has_a_name(live: Callable[..., LiveSource]) -> None:
    look = until(live(STANDIN_PID=str(os.getpid()), STANDIN_DEVICES="1"), sampled)
    processes = look.devices[0].processes
    assert isinstance(processes, tuple)
    assert processes[0].user == pwd.getpwuid(os.getuid()).pw_name


def test_samples_go_on_and_reasons_have_names(live: Callable[..., LiveSource]) -> None:
    look = until(
        live(STANDIN_DEVICES="1", STANDIN_REASONS="68"), lambda look: sampled(look) and len(look.devices[0].samples) > 1
    )
    first, second = look.devices[0].samples[:2]
    assert second.at - first.at == pytest.approx(1.0, abs=0.6)
    assert second.reasons == ("sw-power-cap", "hw-thermal-slowdown")


@pytest.mark.parametrize("how", ["hang", "deaf", "stop"])
def test_a_driver_that_hangs_says_since_when_and_the_rest_stands(
    live: Callable[..., LiveSource], how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "STALLED", 1.6)  # seconds: more than lies between two samples
    source = live(STANDIN_BAD="1", STANDIN_ROUNDS="3", STANDIN_GPU_TROUBLE=how)
    look = until(source, lambda look: "2 s ago" in "".join(look.troubles))
    assert look.troubles == ("NVIDIA's driver stopped responding 2 s ago, asked for the state of GPU 1.",)
    assert [gpu.samples[0].power for gpu in look.devices] == [30.5, 30.5]
    begun = time.monotonic()
    source.stop()
    assert time.monotonic() - begun < 1, "stopping waits for nobody"
    assert source.look().troubles == ()
    assert gone() == []


def test_a_driver_that_hangs_at_the_start_names_its_stage(
    live: Callable[..., LiveSource], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "PATIENT", 0.5)
    source = live(STANDIN_NVML_TROUBLE="hang")
    assert until(source, lambda look: look.troubles).troubles == (
        "NVIDIA's driver stopped responding 1 s ago, in stage init.",
    )


@pytest.mark.parametrize(
    ("env", "trouble"),
    [
        ({"STANDIN_NVML": "18"}, "NVIDIA's driver: nvmlInit failed with 18: Driver/library version mismatch."),
        ({"STANDIN_NVML_TROUBLE": "crash"}, "NVIDIA's driver: the child process was killed by SIGSEGV in stage init."),
    ],
)
def test_a_driver_that_does_not_start_says_why(
    live: Callable[..., LiveSource], env: dict[str, str], trouble: str
) -> None:
    assert until(live(**env), lambda look: look.troubles).troubles == (trouble,)


def test_where_there_is_no_driver_that_is_no_trouble(live: Callable[..., LiveSource], tmp_path: Path) -> None:
    look = until(live(str(tmp_path)), lambda look: len(look.absent) == 2)
    assert (look.troubles, look.waiting, look.devices) == ((), False, ())
    assert "libnvidia-ml.so.1" in look.absent[0]


def test_a_driver_without_a_gpu_says_so(live: Callable[..., LiveSource]) -> None:
    look = until(live(STANDIN_DEVICES="0"), lambda look: len(look.absent) == 2)
    assert look.absent[0] == "NVIDIA's driver: it lists no GPU."


def test_a_gpu_that_is_refused_says_why_beside_one_that_answers(live: Callable[..., LiveSource]) -> None:
    look = until(live(STANDIN_GONE="1"), lambda look: len(look.devices) == 2 and look.devices[0].samples)
    assert [gpu.refused for gpu in look.devices] == [None, "NVML: GPU is lost"]


def test_after_a_failure_it_is_asked_again(
    live: Callable[..., LiveSource], tmp_path: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "RETRY", 0.1)
    source = live(str(tmp_path), STANDIN_DEVICES="1")
    until(source, lambda look: look.absent)
    (tmp_path / "libnvidia-ml.so.1").symlink_to(Path(folder) / "libnvidia-ml.so.1")
    assert until(source, sampled).devices[0].samples[0].power == 30.5


def test_one_that_an_examination_ended_begins_again(live: Callable[..., LiveSource]) -> None:
    source = live(STANDIN_DEVICES="1")
    before = until(source, sampled).devices[0].samples[-1].at
    ended = time.monotonic()
    end_all()
    look = until(source, lambda look: look.devices[0].samples[-1].at > ended)
    assert look.devices[0].samples[-1].at > ended > before


def test_stopped_it_asks_nothing_and_started_again_it_goes_on(live: Callable[..., LiveSource]) -> None:
    source = live(STANDIN_DEVICES="1")
    until(source, sampled)
    source.stop()
    assert gone() == []
    count = len(source.look().devices[0].samples)
    source.start()
    assert len(until(source, lambda look: len(look.devices[0].samples) > count).devices[0].samples) > count


def test_a_short_stop_leaves_one_child(live: Callable[..., LiveSource]) -> None:
    source = live(STANDIN_DEVICES="1")
    until(source, sampled)
    for _ in range(20):
        source.stop()
        source.start()
    until(source, lambda look: not look.waiting)
    end = time.monotonic() + 5
    while len(left_running(MARK)) != 1 and time.monotonic() < end:
        time.sleep(0.02)
    assert len(left_running(MARK)) == 1
