"""A recording that plays: its lines, its time, its end, and files that are none."""

import json
from pathlib import Path

import pytest

from gpudoctor.maybe import Unknown
from gpudoctor.monitor.replay import RecordingError, Replay, read
from gpudoctor.monitor.snapshot import REPLAYED
from gpudoctor.sampling.history import MAX_SAMPLES
from gpudoctor.sampling.lines import GpuSample, HostMemory, MonitorProcess, SampleLine

DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "samples.md"
FIRST = b'{"schema": "gpudoctor.samples/1"}\n'


class Clock:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def recorded(count: int, first: float = 0.0) -> list[SampleLine]:
    """A sample a second whose utilization is its number."""
    return [SampleLine(gpu="GPU 0", sample=GpuSample(at=first + at, utilization=at)) for at in range(count)]


def shown(replay: Replay) -> list[object]:
    return [sample.utilization for gpu in replay.look().devices for sample in gpu.samples]


def test_half_of_it_is_there_at_once_and_the_rest_comes_in_its_time() -> None:
    clock = Clock()
    replay = Replay(recorded(10), clock)
    assert shown(replay) == [0, 1, 2, 3, 4, 5]
    clock.now += 5
    assert shown(replay) == [0, 1, 2, 3, 4, 5], "it plays only after its start"
    replay.start()
    clock.now += 1
    assert shown(replay)[-1] == 6
    replay.stop()
    clock.now += 60
    assert shown(replay)[-1] == 6
    replay.start()
    replay.start()
    clock.now += 1
    assert shown(replay)[-1] == 7
    assert replay.look().kind == REPLAYED


def test_it_starts_again_at_its_end_and_time_never_goes_back() -> None:
    clock = Clock()
    replay = Replay(recorded(4, first=500.0), clock)
    replay.start()
    clock.now += 4
    (gpu,) = replay.look().devices
    assert [sample.utilization for sample in gpu.samples] == [0, 1, 2, 3, 0, 1, 2]
    assert [sample.at for sample in gpu.samples] == [0, 1, 2, 3, 4, 5, 6]


def test_after_a_long_pause_it_does_not_play_what_nobody_will_see() -> None:
    clock = Clock()
    replay = Replay(recorded(10), clock)
    replay.start()
    clock.now += 1e9
    (gpu,) = replay.look().devices
    assert len(gpu.samples) < MAX_SAMPLES
    assert gpu.samples[-1].at == pytest.approx(replay.look().now, abs=1)


def test_lines_without_a_time_belong_to_the_line_before() -> None:
    clock = Clock()
    found = [
        SampleLine(schema="gpudoctor.samples/1", title="two GPUs"),
        SampleLine(gpu="GPU 0", device={"name": "H100", "colour": "green"}),
        *recorded(2),
        SampleLine(gpu="GPU 0", processes=(MonitorProcess(pid=7),)),
        SampleLine(gpu="GPU 1", refused=Unknown("NVML: GPU is lost"), at=1.5),
    ]
    replay = Replay(found, clock)
    assert replay.look().title == "two GPUs"
    (gpu,) = replay.look().devices
    assert (gpu.device.name, gpu.processes) == ("H100", (MonitorProcess(pid=7),))
    replay.start()
    clock.now += 1
    assert [gpu.refused for gpu in replay.look().devices] == [None, "NVML: GPU is lost"]


def test_without_a_line_there_is_nothing() -> None:
    replay = Replay([])
    replay.start()
    assert replay.look().devices == ()


def test_the_example_in_the_documentation_is_a_recording() -> None:
    text = DOCUMENT.read_text().split("```json\n")[1].split("```")[0]
    found = read(text.encode())
    replay = Replay(found, Clock())
    replay.start()
    look = replay.look()
    (gpu,) = look.devices
    assert gpu.device.name == "NVIDIA GeForce RTX 4090"
    assert look.host == HostMemory(memory=64 << 30, memory_available=43980465111)
    (process,) = gpu.processes  # type: ignore[misc]
    assert process == MonitorProcess(
        pid=4242, kind="C", memory=21000000000, name="python", command="python train.py", user="anna",
        host_memory=12 << 30, age=3601.5,
    )  # fmt: skip
    first, second = gpu.samples
    assert (first.reasons, first.pcie_rx) == (("sw-power-cap",), 1.2e9)
    assert second.utilization == Unknown("NVML: GPU is lost")
    assert second.power == Unknown("not reported")


def test_a_recording_without_the_new_fields_is_read() -> None:
    old = b"""{"schema": "gpudoctor.samples/1"}
{"gpu": "GPU 0", "processes": [{"pid": 4242, "kind": "C", "memory": 21, "name": "python", "user": "anna"}]}
{"gpu": "GPU 0", "sample": {"at": 0.0, "utilization": 97}}"""
    look = Replay(read(old), Clock()).look()
    (process,) = look.devices[0].processes  # type: ignore[misc]
    assert (process.name, process.command, look.host) == ("python", Unknown("not reported"), None)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "The file is not a recording"),
        (b'{"gpu": "GPU 0"}\n', "The file is not a recording"),
        (FIRST + b"{", "Line 2 of the recording is invalid"),
        (FIRST + b'{"gpu": "GPU 0", "sample": {"utilization": 3}}', "Line 2 of the recording is invalid"),
        (FIRST + b'\n{"gpu": "\xff"}', "Line 3 of the recording is invalid"),
    ],
)
def test_a_file_that_is_no_recording_says_why(data: bytes, message: str) -> None:
    with pytest.raises(RecordingError, match=message):
        read(data)


def test_a_recording_that_claims_any_gpu_takes_no_memory() -> None:
    names = ["GPU x", "GPU -1", "GPU 99999", "CPU 0", "", "GPU"]
    replay = Replay([SampleLine(gpu=name, sample=GpuSample(at=0.0)) for name in names])
    assert replay.look().devices == ()


def test_nonsense_about_a_device_leaves_what_was_known() -> None:
    reported = {"name": ["no", "text"], "memory": 5}
    replay = Replay([SampleLine(gpu="GPU 0", device={"memory": 3}), SampleLine(gpu="GPU 0", device=reported)])
    assert json.dumps(replay.look().devices[0].device.memory) == "3"
