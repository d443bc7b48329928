"""Which chip a PCI device id stands for."""

import itertools

import pytest

from gpudoctor.knowledge import pci_ids


@pytest.mark.parametrize(
    ("device_id", "code", "architecture", "capability"),
    [
        ("06d2", "GF100", "Fermi", "2.0"),
        ("0dc4", "GF106", "Fermi", "2.1"),
        ("1086", "GF110", "Fermi", "2.0"),
        ("128b", "GK208", "Kepler", "3.5"),
        ("1180", "GK104", "Kepler", "3.0"),
        ("102d", "GK210", "Kepler", "3.7"),
        ("139a", "GM107", "Maxwell", "5.0"),
        ("13c2", "GM204", "Maxwell", "5.2"),
        ("15f8", "GP100", "Pascal", "6.0"),
        ("1d16", "GP108", "Pascal", "6.1"),
        ("1db6", "GV100", "Volta", "7.0"),
        ("1eb8", "TU104", "Turing", "7.5"),
        ("20b0", "GA100", "Ampere", "8.0"),
        ("0x2204", "GA102", "Ampere", "8.6"),
        ("2684", "AD102", "Ada", "8.9"),
        ("2330", "GH100", "Hopper", "9.0"),
        ("2901", "GB100", "Blackwell", "10.0"),
        ("3182", "GB110", "Blackwell", "10.3"),
        ("2B85", "GB202", "Blackwell", "12.0"),
        ("2f38", "GB205", "Blackwell", "12.0"),
        ("2e12", "GB20B", "Blackwell", "12.1"),
        ("3240", None, None, None),
    ],
)
def test_nvidia_chip(device_id: str, code: str | None, architecture: str | None, capability: str | None) -> None:
    chip = pci_ids.nvidia_chip(device_id)
    assert chip == (pci_ids.NvidiaChip(code, architecture, capability) if code else None)


def test_a_chip_without_published_capability_has_none() -> None:
    assert pci_ids.nvidia_chip("3200") == pci_ids.NvidiaChip("GB112", "Blackwell", None)


def test_the_installed_name_helps_where_the_id_is_new() -> None:
    assert pci_ids.nvidia_chip("9999", "AD107M [GeForce RTX 4060]") == pci_ids.NvidiaChip("AD107", "Ada", "8.9")
    assert pci_ids.nvidia_chip("9999", "Device 9999") is None


@pytest.mark.parametrize("device_id", ["ffff", "", "zz", "0x"])
def test_an_unknown_id_is_none(device_id: str) -> None:
    assert pci_ids.nvidia_chip(device_id) is None
    assert pci_ids.amd_chip(device_id) is None
    assert not pci_ids.is_nvswitch(device_id)
    assert not pci_ids.needs_fabric(device_id)


@pytest.mark.parametrize(
    ("device_id", "code", "gfx", "integrated"),
    [
        ("6811", "Pitcairn", "gfx601", False),
        ("6610", "Oland", "gfx602", False),
        ("67df", "Polaris 10", "gfx803", False),
        ("687f", "Vega 10", "gfx900", False),
        ("66af", "Vega 20", "gfx906", False),
        ("15d8", "Raven", "gfx902", True),
        ("1638", "Renoir", "gfx90c", True),
        ("738c", "Arcturus", "gfx908", False),
        ("7408", "Aldebaran", "gfx90a", False),
        ("740f", "Aldebaran", "gfx90a", False),
        ("74a1", "Aqua Vanjaram", "gfx942", False),
        ("75a0", "MI350", "gfx950", False),
        ("731f", "Navi 10", "gfx1010", False),
        ("0x73BF", "Navi 21", "gfx1030", False),
        ("73df", "Navi 22", "gfx1031", False),
        ("73ff", "Navi 23", "gfx1032", False),
        ("743f", "Navi 24", "gfx1034", False),
        ("744c", "Navi 31", "gfx1100", False),
        ("747e", "Navi 32", "gfx1101", False),
        ("7480", "Navi 33", "gfx1102", False),
        ("7550", "Navi 48", "gfx1201", False),
        ("7590", "Navi 44", "gfx1200", False),
        ("164e", "Raphael", "gfx1036", True),
        ("1681", "Rembrandt", "gfx1035", True),
        ("15bf", "Phoenix", "gfx1103", True),
        ("150e", "Strix Point", "gfx1150", True),
        ("1586", "Strix Halo", "gfx1151", True),
        ("1902", "Krackan 2", None, True),
    ],
)
def test_amd_chip(device_id: str, code: str, gfx: str | None, integrated: bool) -> None:
    assert pci_ids.amd_chip(device_id) == pci_ids.AmdChip(code, gfx, integrated)


@pytest.mark.parametrize("device_id", ["22a3", "1af1", "1ac1", "1ac2"])
def test_an_nvswitch_is_no_gpu(device_id: str) -> None:
    assert pci_ids.is_nvswitch(device_id)
    assert pci_ids.nvidia_chip(device_id) is None


@pytest.mark.parametrize(
    ("device_id", "needs"),
    [("20b2", True), ("2330", True), ("2335", True), ("2901", True), ("3182", True), ("2331", False), ("2204", False)],
)
def test_needs_fabric(device_id: str, needs: bool) -> None:
    assert pci_ids.needs_fabric(device_id) is needs


def test_no_id_belongs_to_two_chips() -> None:
    table = pci_ids.pci_ids()
    for texts in ([*table.nvidia.values()], [i for _, i in (table.amd | table.amd_integrated).values()]):
        ranges = sorted(r for text in texts for r in pci_ids._ranges(text))
        assert all(left[1] < right[0] for left, right in itertools.pairwise(ranges))
