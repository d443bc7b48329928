"""What is kept of the sampler's lines, and what they show of the child itself."""

import pytest

from gpudoctor.maybe import Unknown
from gpudoctor.sampling.child import SamplerChild
from gpudoctor.sampling.history import History

SAMPLE = '{"gpu": "GPU 0", "sample": {"at": %d, "power": 9, "sm_clock": null, "temperature": {"unknown": "x"}}}'


class Reported:
    """A child that wrote some lines, and the history that took them."""

    def __init__(self, *lines: str, max_samples: int = 100) -> None:
        self.history = History(max_samples)
        self.child = SamplerChild("fast", "nvidia", "", self.history.take)
        for line in lines:
            self.child.line(line)


def test_samples_are_kept_by_gpu_and_in_order() -> None:
    kept = Reported(SAMPLE % 1, SAMPLE.replace("GPU 0", "GPU 1") % 2, SAMPLE % 3).history.gpus
    assert {gpu: [sample.at for sample in one.samples] for gpu, one in kept.items()} == {
        "nvidia 0": [1.0, 3.0],
        "nvidia 1": [2.0],
    }
    first = kept["nvidia 0"].samples[0]
    assert (first.power, first.sm_clock, first.temperature) == (9.0, None, Unknown("x"))
    assert first.utilization == Unknown("not reported")


def test_the_oldest_are_forgotten() -> None:
    counters = '{"gpu": "GPU 0", "counters": {"at": %d, "others": 0}}'
    reported = Reported(*(SAMPLE % at for at in range(10)), *(counters % at for at in range(10)), max_samples=3)
    kept = reported.history.gpus["nvidia 0"]
    assert [sample.at for sample in kept.samples] == [7.0, 8.0, 9.0]
    assert [each.at for each in kept.counters] == [7.0, 8.0, 9.0]


def test_a_stage_lasts_until_the_next() -> None:
    child = Reported('{"stage": "state of GPU 0"}', SAMPLE % 1, SAMPLE % 2).child
    assert (child.stage, child.asked, child.answered) == (
        "state of GPU 0",
        "asked for the state of GPU 0",
        True,
    )


@pytest.mark.parametrize(
    "noise", ["", "warning", '{"gpu": "GPU 0", "sam', "[1]", '{"gpu": 5}', '{"gpu": "GPU 0", "sample": {"at": "x"}}']
)
def test_what_is_no_line_of_ours_is_passed_over(noise: str) -> None:
    reported = Reported('{"stage": "init"}', noise)
    assert (reported.child.asked, reported.history.gpus, reported.child.failed) == ("in stage init", {}, "")


@pytest.mark.parametrize(
    ("line", "failed", "absent"),
    [
        ('{"code": 0, "text": "Unknown Error"}', "", ""),
        ('{"code": 9, "text": "Driver Not Loaded"}', "nvmlInit failed with 9: Driver Not Loaded", ""),
        ('{"code": {"unknown": "this libnvidia-ml has no nvmlInit_v2"}}', "this libnvidia-ml has no nvmlInit_v2", ""),
        ('{"not_loaded": "libnvidia-ml.so.1: cannot open"}', "", "libnvidia-ml.so.1: cannot open"),
        ('{"no_module": "no pynvml"}', "", "no pynvml"),
        ('{"loaded": "/usr/lib/libnvidia-ml.so.1"}', "", "it lists no GPU"),
    ],
)
def test_why_there_is_nothing_to_sample_is_kept(line: str, failed: str, absent: str) -> None:
    child = Reported(line, '{"stage": "later"}', '{"count": 0}').child
    assert child.failed == failed
    assert child.absent == (absent or ("" if failed else "it lists no GPU"))


def test_a_gpu_that_is_refused_says_why_until_it_responds() -> None:
    refused = '{"gpu": "GPU 1", "refused": {"unknown": "NVML: GPU is lost"}}'
    assert Reported(refused).history.gpus["nvidia 1"].refused == "NVML: GPU is lost"
    assert Reported(refused, SAMPLE.replace("GPU 0", "GPU 1") % 1).history.gpus["nvidia 1"].refused is None


def test_the_hosts_memory_is_kept() -> None:
    host = Reported('{"at": 1, "host": {"memory": 8, "memory_available": {"unknown": "x"}}}', SAMPLE % 1).history.host
    assert host
    assert (host.memory, host.memory_available) == (8, Unknown("x"))
