"""Bridges, IOMMU, ACS, near processors and corrected errors of a GPU."""

import struct

import pytest

from gpudoctor.facts import Host, PciDevice
from gpudoctor.maybe import Unknown
from gpudoctor.probes import pci
from gpudoctor.probes.pci.path import path, redirects
from gpudoctor.recorded_machine import RecordedMachine

AT = "/sys/bus/pci/devices/0000:03:00.0"
PORT = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0"
REAL = f"{PORT}/0000:03:00.0"
COUNTERS = "RxErr 3\nBadTLP 12\nBadDLLP 0\nRollover 0\nTimeout 0\nNonFatalErr 900\nCorrIntErr 0\nTOTAL_ERR_COR 915\n"


def config(control: int | None, size: int = 4096) -> bytes:
    """The configuration space of a bridge: an error capability, then ACS with this control register."""
    data = bytearray(4096)
    struct.pack_into("<I", data, 0x100, 0x0001 | 1 << 16 | (0x148 << 20 if control is not None else 0))
    if control is not None:
        struct.pack_into("<IHH", data, 0x148, 0x000D | 1 << 16, 0x1F, control)
    return bytes(data[:size])


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (config(0x1D), True),  # SrcValid, ReqRedir, CmpltRedir, UpstreamFwd
        (config(0x01), False),  # SrcValid alone
        (config(0x00), False),
        (config(None), None),
        (b"\xff" * 4096, None),
        (b"\0" * 4096, None),
    ],
)
def test_redirects(data: bytes, found: bool | None) -> None:
    assert redirects(data) is found


def test_a_list_that_goes_round_ends() -> None:
    data = bytearray(4096)
    struct.pack_into("<I", data, 0x100, 0x0001 | 1 << 16 | 0x100 << 20)
    assert redirects(bytes(data)) is None


def machine(files: dict[str, str | bytes] | None = None, links: dict[str, str] | None = None) -> RecordedMachine:
    return RecordedMachine(files or {}, links={AT: REAL} | (links or {}))


def test_the_way_to_the_memory() -> None:
    files: dict[str, str | bytes] = {
        f"{REAL}/aer_dev_correctable": COUNTERS,
        f"{PORT}/aer_dev_correctable": "RxErr 0\nBadTLP 5\nTimeout 2\n",
        f"{REAL}/local_cpulist": "0-31,64-95\n",
        f"{REAL}/iommu_group/type": "DMA-FQ\n",
        f"{PORT}/config": config(0x1D),
    }
    found = path(machine(files), AT, acs=True)
    assert found.ports == ("0000:00:01.0", "0000:01:00.0", "0000:02:00.0")
    assert (found.iommu, found.acs, found.local_cpus) == ("DMA-FQ", True, "0-31,64-95")
    assert found.link_errors == (("RxErr", 3), ("BadTLP", 17), ("Timeout", 2))


def test_a_machine_that_tells_nothing_of_it() -> None:
    found = path(machine({f"{REAL}/vendor": "0x10de"}), AT, acs=False)
    assert (found.iommu, found.local_cpus, found.link_errors) == (None, None, None)
    assert found.acs == Unknown("not read: there is only one GPU")


def test_a_healthy_link_has_no_errors() -> None:
    assert path(machine({f"{REAL}/aer_dev_correctable": "RxErr 0\nBadTLP 0\n"}), AT, acs=False).link_errors == ()


def test_a_user_reads_64_bytes_of_a_bridge() -> None:
    found = path(machine({f"{PORT}/config": config(0x1D, 64)}), AT, acs=True)
    assert found.acs == Unknown("the configuration space of PCI bridges can be read by root only")


def gpus(count: int, *, uid: int) -> tuple[PciDevice, ...]:
    files: dict[str, str | bytes] = {}
    for bus in range(3, 3 + count):
        at = f"/sys/bus/pci/devices/0000:{bus:02x}:00.0"
        files |= {f"{at}/vendor": "0x10de", f"{at}/device": "0x2235", f"{at}/class": "0x030200"}
    found = pci.probe(RecordedMachine(files, ids=(uid, uid, (uid,))), Host(wsl=None))
    assert not isinstance(found, Unknown)
    return found


def test_acs_is_asked_for_by_root_and_among_peers_alone() -> None:
    assert gpus(1, uid=0)[0].acs == Unknown("not read: there is only one GPU")
    assert gpus(2, uid=1000)[0].acs == Unknown("the configuration space of PCI bridges can be read by root only")
    assert gpus(2, uid=0)[0].acs is None  # these have no bridge above them
