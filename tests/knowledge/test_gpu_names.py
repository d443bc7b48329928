"""What GPUs are sold as, by PCI ids."""

import re

import pytest

from gpudoctor.knowledge.gpu_names import exact_name, gpu_names, name_of
from gpudoctor.knowledge.gpu_peaks import product
from gpudoctor.knowledge.pci_ids import amd_chip, nvidia_chip


@pytest.mark.parametrize(
    ("vendor", "device", "variant", "name"),
    [
        ("amd", "744c", "c8", "AMD Radeon RX 7900 XTX"),
        ("amd", "744c", "cc", "AMD Radeon RX 7900 XT"),
        ("amd", "744c", "00", None),  # which of four products it is, its revision alone tells
        ("amd", "744c", None, None),
        ("amd", "74a1", "00", "AMD Instinct MI300X"),
        ("amd", "74a1", None, "AMD Instinct MI300X"),
        ("amd", "1586", "c1", "AMD Radeon 8060S Graphics"),
        ("amd", "ffff", "00", None),
        ("nvidia", "2684", "1043:889a", "NVIDIA GeForce RTX 4090"),
        ("nvidia", "2330", None, "NVIDIA H100 80GB HBM3"),
        ("nvidia", "20b2", "10de:1463", "NVIDIA A100-SXM4-80GB"),
        ("nvidia", "1b06", None, "NVIDIA GeForce GTX 1080 Ti"),
        ("intel", "e20b", None, "Intel Arc B580"),
        ("intel", "4680", None, "Intel UHD Graphics 770"),
    ],
)
def test_names(vendor: str, device: str, variant: str | None, name: str | None) -> None:
    assert name_of(vendor, device, variant) == name


def test_an_exact_name_is_of_a_variant_that_is_listed() -> None:
    assert exact_name("amd", "744c", "c8") == "AMD Radeon RX 7900 XTX"
    assert exact_name("amd", "744c", "c9") is None
    assert exact_name("nvidia", "2684", None) is None


def test_every_row_is_one_that_is_read_and_of_a_chip_that_is_known() -> None:
    row = re.compile(
        r"([0-9a-f]{4}) (?:([0-9a-f]{2}|[0-9a-f]{4}:[0-9a-f]{4})(?:,[0-9a-f:]+)* )?(NVIDIA|AMD|Intel) \S.*"
    )
    for vendor, chip in (("nvidia", nvidia_chip), ("amd", amd_chip), ("intel", None)):
        lines = getattr(gpu_names().names, vendor).splitlines()
        assert len(lines) > 100
        assert len(set(lines)) == len(lines)
        for line in lines:
            assert row.fullmatch(line), line
            # amdgpu.ids has one Hainan more than the table of chips.
            assert chip is None or chip(line[:4]) is not None or line.startswith("6666 "), line


def test_the_limits_of_a_product_are_found_by_its_name() -> None:
    for device, revision in (("744c", "c8"), ("744c", "cc"), ("7550", "c0"), ("74a1", "00")):
        name = name_of("amd", device, revision)
        assert name is not None
        found = product("amd", name)
        assert found is not None
        assert name.endswith(found.names[0])
