"""Invented samples are plausible, repeatable, and say of an ill GPU what the facts say."""

import msgspec
import pytest

from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from gpudoctor.monitor.replay import read
from gpudoctor.monitor.synthetic import SECONDS, lines
from gpudoctor.sampling.lines import GpuSample
from tests.builders import change, nvidia_host, plain_host


def samples(facts: Facts, gpu: str = "GPU 0", seed: int = 7) -> list[GpuSample]:
    return [line.sample for line in lines(facts, seed) if line.gpu == gpu and line.sample is not None]


def numbers(found: list[GpuSample], name: str) -> list[float]:
    reported = [getattr(sample, name) for sample in found]
    assert all(isinstance(value, int | float) for value in reported)
    return reported


def test_they_are_a_recording() -> None:
    data = b"\n".join(msgspec.json.encode(line) for line in lines(nvidia_host(2)))
    found = read(data)
    assert len(found) == 1 + 2 * (2 + SECONDS) + 1
    assert [line.host.memory for line in found if line.host] == [nvidia_host(2).host.memory]


def test_the_same_seed_gives_the_same_samples() -> None:
    assert samples(nvidia_host()) == samples(nvidia_host())
    assert samples(nvidia_host()) != samples(nvidia_host(), seed=8)


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("utilization", 0, 100), ("power", 20, 450), ("temperature", 30, 90), ("fan", 30, 100),
        ("memory_used", 1, 24 << 30), ("sm_clock", 2000, 3105), ("pcie_rx", 1, 32e9), ("pcie_tx", 1, 32e9),
    ],
)  # fmt: skip
def test_nothing_exceeds_the_limits_of_the_card(name: str, least: float, most: float) -> None:
    found = numbers(samples(nvidia_host()), name)
    assert least <= min(found) < max(found) <= most


def test_a_narrow_link_starves_its_gpu() -> None:
    facts = change(change(nvidia_host(2), "gpus.1.link_width", 4), "gpus.1.link_generation_max", 1)
    healthy, narrow = (samples(facts, name) for name in ("GPU 0", "GPU 1"))
    assert max(numbers(narrow, "utilization")) < max(numbers(healthy, "utilization")) - 20
    assert max(numbers(narrow, "pcie_rx")) < 1e9
    assert {sample.link_width for sample in narrow} == {4}


def test_at_the_power_limit_the_clock_falls_and_the_reason_is_told() -> None:
    capped = [s for s in samples(nvidia_host()) if s.reasons]
    assert {s.reasons for s in capped} == {("sw-power-cap",)}
    free = [s for s in samples(nvidia_host()) if not s.reasons]
    assert max(numbers(capped, "sm_clock")) < min(numbers(free, "sm_clock"))


def test_an_ill_gpu_tells_nothing_new() -> None:
    lost = Unknown("NVML: GPU is lost")
    facts = change(change(nvidia_host(), "gpus.0.status", "lost"), "gpus.0.power", lost)
    assert {sample.power for sample in samples(facts)} == {lost}


@pytest.mark.parametrize("facts", [plain_host(), plain_host(gpus=Unknown("nobody asked"))])
def test_without_a_gpu_there_are_none(facts: Facts) -> None:
    assert [line.gpu for line in lines(facts)] == [None]
