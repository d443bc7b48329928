"""What GPUs can compute and move at most."""

import re

import pytest

from gpudoctor.knowledge import gpu_peaks
from gpudoctor.knowledge.gpu_peaks import bandwidth, is_measured, nvlink, peaks, per_clock, product

GIB = 1 << 30
EVERY = (*peaks().products.nvidia, *peaks().products.amd)
SOURCES = {source.id for source in peaks().source}


@pytest.mark.parametrize(
    ("target", "name", "dtype", "rate"),
    [
        ("9.0", "NVIDIA H100 80GB HBM3", "bf16", 4096),
        ("9.0", "NVIDIA H100 80GB HBM3", "fp8", 8192),
        ("8.9", "NVIDIA L40S", "bf16", 1024),
        ("8.9", "NVIDIA L40", "bf16", 512),
        ("8.9", "NVIDIA GeForce RTX 4090", "bf16", 512),
        ("8.9", "NVIDIA GeForce RTX 4090", "fp32", 256),
        ("8.6", "NVIDIA A10", "bf16", 1024),
        ("8.6", "NVIDIA A10G", "bf16", 512),
        ("7.5", "Tesla T4", "fp16", 1024),
        ("7.5", "NVIDIA GeForce GTX 1660 Ti", "fp16", None),
        ("7.5", "NVIDIA T1000 8GB", "fp16", None),
        ("7.5", "NVIDIA GeForce RTX 2080 Ti", "fp16", 512),
        ("7.5", "NVIDIA TITAN RTX", "fp16", 1024),
        ("7.0", "Tesla V100-SXM2-32GB", "bf16", None),
        ("9.0", "NVIDIA H20", "bf16", None),
        ("9.0", "NVIDIA H200", "fp64", None),
        ("12.0", "NVIDIA GeForce RTX 5090 D", "bf16", None),
        ("99.0", "NVIDIA X", "bf16", None),
        ("gfx942", "AMD Instinct MI300X", "bf16", 2048),
    ],
)
def test_operations_per_clock(target: str, name: str, dtype: str, rate: float | None) -> None:
    assert per_clock(target, name, dtype) == rate


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("7.0", "Tesla V100-SXM2-16GB"),
        ("7.5", "Tesla T4"),
        ("8.0", "NVIDIA A100-SXM4-80GB"),
        ("8.0", "NVIDIA A30"),
        ("8.6", "NVIDIA RTX A6000"),
        ("8.6", "NVIDIA GeForce RTX 3090"),
        ("8.9", "NVIDIA L4"),
        ("8.9", "NVIDIA GeForce RTX 4090"),
        ("9.0", "NVIDIA H100 80GB HBM3"),
        ("9.0", "NVIDIA H100 PCIe"),
        ("10.0", "NVIDIA B200"),
        ("12.0", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition"),
        ("12.0", "NVIDIA GeForce RTX 5090"),
        ("gfx908", "AMD Instinct MI100"),
        ("gfx90a", "AMD Instinct MI250X"),
        ("gfx942", "AMD Instinct MI300X"),
        ("gfx950", "AMD Instinct MI355X"),
    ],
)
def test_rates_per_clock_give_the_data_sheet(target: str, name: str) -> None:
    found = product("amd" if target.startswith("gfx") else "nvidia", name)
    assert found is not None
    assert found.processors is not None
    assert found.clock is not None
    rate = per_clock(target, name, "fp16")
    assert rate is not None
    assert found.processors * found.clock * rate * 1e-6 == pytest.approx(found.fp16, rel=0.012)


@pytest.mark.parametrize(
    ("vendor", "name", "gib", "rate"),
    [
        ("nvidia", "NVIDIA A100-SXM4-80GB", 79.2, 2039),
        ("nvidia", "NVIDIA A100-SXM4-40GB", 39.4, 1555),
        ("nvidia", "NVIDIA A10", 22.5, 600),
        ("nvidia", "NVIDIA GeForce RTX 3080", 10, 760),
        ("nvidia", "NVIDIA GeForce RTX 3080", 12, None),
        ("nvidia", "NVIDIA GeForce RTX 4060 Ti", 16, 288),
        ("nvidia", "NVIDIA GeForce RTX 4070 Ti SUPER", 16, None),
        ("nvidia", "NVIDIA GeForce RTX 4090 Laptop GPU", 16, None),
        ("nvidia", "NVIDIA A40-24Q", 24, None),
        ("nvidia", "NVIDIA GH200 480GB", 95.6, 4000),
        ("nvidia", "NVIDIA GH200 480GB", 140, 4800),
        ("nvidia", "NVIDIA GH200 480GB", None, None),
        ("amd", "AMD Instinct MI300X VF", 192, 5300),
        ("amd", "Radeon RX 7900 XTX", 24, 960),
        ("amd", "Navi 31 [Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M]", 24, None),
        ("amd", "AMD Radeon RX 9070 XT", 16, 640),
        ("nvidia", "AMD Instinct MI300X", 192, None),
    ],
)
def test_bandwidth_by_name_and_size(vendor: str, name: str, gib: float | None, rate: float | None) -> None:
    memory = None if gib is None else int(gib * GIB)
    found = product(vendor, name, memory)
    assert (bandwidth(found, memory) if found else None) == rate


def test_a_name_within_a_longer_one_is_not_taken_for_it() -> None:
    longer, shorter = product("amd", "Radeon RX 9070 XT", 16 * GIB), product("amd", "Radeon RX 9070", 16 * GIB)
    assert longer is not None
    assert shorter is not None
    assert longer.fp16 == 195
    assert shorter.fp16 == 145


def test_products_are_whole_and_named_once() -> None:
    names = [name for p in EVERY for name in p.names]
    assert len(names) == len(set(names))
    for p in EVERY:
        assert len(p.bandwidth) in (1, len(p.memory)), p.names
        assert p.measured is None or 0.7 <= p.measured / max(p.bandwidth) <= 1, p.names
        assert set(p.sources) <= SOURCES, p.names


def test_every_target_has_a_source_and_patterns_compile() -> None:
    clock = peaks().clock
    targets = {p.target for p in clock.processor}
    assert {p.source for p in clock.processor} | {e.source for e in clock.exception} <= SOURCES
    assert {e.target for e in clock.exception} <= targets
    assert all(re.compile(e.name) for e in clock.exception)
    assert all(p.rate.of(dtype) for p in clock.processor for dtype in p.measured)


def test_what_was_measured() -> None:
    assert is_measured("9.0", "bf16")
    assert not is_measured("8.6", "bf16")
    assert not is_measured("9.0", "fp32")
    assert not is_measured("1.0", "bf16")


@pytest.mark.parametrize(("capability", "rate"), [("9.0", 25), ("10.0", 50), ("8.6", None)])
def test_nvlink(capability: str, rate: float | None) -> None:
    assert nvlink(capability) == rate


def test_the_rates_are_those_of_the_data_types() -> None:
    assert gpu_peaks.Rates(fp32=1.0).of("note") is None
