"""What is kept of the sampler's lines."""

import pytest

from gpudoctor.maybe import Unknown
from gpudoctor.smoketests import samples
from gpudoctor.smoketests.samples import SamplerOutput

SAMPLE = '{"gpu": "GPU 0", "sample": {"at": %d, "power": 9, "sm_clock": null, "temperature": {"unknown": "x"}}}'


def told(*lines: str) -> SamplerOutput:
    found = SamplerOutput()
    for line in lines:
        found.line(line)
    return found


def test_samples_are_kept_by_gpu_and_in_order() -> None:
    found = told(SAMPLE % 1, SAMPLE.replace("GPU 0", "GPU 1") % 2, SAMPLE % 3)
    assert {gpu: [sample.at for sample in kept] for gpu, kept in found.samples.items()} == {
        "GPU 0": [1.0, 3.0],
        "GPU 1": [2.0],
    }
    first = found.samples["GPU 0"][0]
    assert (first.power, first.sm_clock, first.temperature) == (9.0, None, Unknown("x"))
    assert first.utilization == Unknown("the driver was not queried")


def test_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "MOST_SAMPLES", 3)
    monkeypatch.setattr(samples, "MOST_COUNTERS", 2)
    counters = '{"gpu": "GPU 0", "counters": {"at": %d, "others": 0}}'
    found = told(*(SAMPLE % at for at in range(10)), *(counters % at for at in range(10)))
    assert [sample.at for sample in found.samples["GPU 0"]] == [7.0, 8.0, 9.0]
    assert [each.at for each in found.counters["GPU 0"]] == [8.0, 9.0]


def test_a_stage_lasts_until_the_next() -> None:
    assert told('{"stage": "clocks of GPU 0"}', SAMPLE % 1, SAMPLE % 2).stage == "clocks of GPU 0"


@pytest.mark.parametrize(
    "noise", ["", "warning", '{"gpu": "GPU 0", "sam', "[1]", '{"gpu": 5}', '{"gpu": "GPU 0", "sample": {"at": "x"}}']
)
def test_what_is_no_line_of_ours_is_passed_over(noise: str) -> None:
    found = told('{"stage": "init"}', noise)
    assert (found.stage, found.samples, found.failed) == ("init", {}, None)


@pytest.mark.parametrize(
    ("line", "failed"),
    [
        ('{"code": 0, "text": "Unknown Error"}', None),
        ('{"code": 9, "text": "Driver Not Loaded"}', "nvmlInit failed with 9: Driver Not Loaded"),
        ('{"code": {"unknown": "this libnvidia-ml has no nvmlInit_v2"}}', "this libnvidia-ml has no nvmlInit_v2"),
        ('{"not_loaded": "libnvidia-ml.so.1: cannot open"}', "libnvidia-ml.so.1: cannot open"),
        ('{"no_module": "no pynvml"}', "no pynvml"),
        ('{"loaded": "/usr/lib/libnvidia-ml.so.1"}', None),
    ],
)
def test_why_nvml_did_not_start_is_kept(line: str, failed: str | None) -> None:
    assert told(line, '{"stage": "later"}').failed == failed


def test_a_gpu_that_is_not_watched_says_why() -> None:
    assert told('{"gpu": "GPU 1", "refused": {"unknown": "NVML: GPU is lost"}}').refused == {
        "GPU 1": "NVML: GPU is lost"
    }
