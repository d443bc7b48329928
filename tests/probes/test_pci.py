"""The bus: which devices matter, how their links and windows read, and that a sleeping GPU is left alone."""

import pytest

from gpudoctor.facts import Host, PciDevice
from gpudoctor.maybe import Unknown
from gpudoctor.probes.pci import probe
from gpudoctor.recorded_machine import RecordedMachine

AT = "/sys/bus/pci/devices/0000:01:00.0"
REAL = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0"
UNUSED = "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
ROWS_32 = "0x00000000a0000000 0x00000000a0ffffff 0x0000000000040200\n" + (
    "0x0000000080000000 0x000000008fffffff 0x000000000014220c\n" + 5 * UNUSED
)
CARD = {
    "vendor": "0x10de",
    "device": "0x2204",
    "class": "0x030000",
    "subsystem_vendor": "0x10de",
    "subsystem_device": "0x1454",
    "revision": "0xa1",
    "numa_node": "-1",
    "power_state": "D0",
    "power/runtime_status": "active",
    "current_link_speed": "2.5 GT/s PCIe",
    "current_link_width": "16",
    "max_link_speed": "16.0 GT/s PCIe",
    "max_link_width": "16",
    "resource": ROWS_32,
}


def bus(
    card: dict[str, str], links: dict[str, str] | None = None, files: dict[str, str] | None = None
) -> tuple[PciDevice, ...]:
    everything = {f"{AT}/{name}": text + "\n" for name, text in card.items()} | (files or {})
    found = probe(RecordedMachine(everything, links=links), Host(wsl=None))
    assert not isinstance(found, Unknown)
    return found


def test_a_card() -> None:
    ids = "# pci.ids\n1002  AMD\n\t2204  wrong\n10de  NVIDIA Corporation\n\t2204  GA102 [GeForce RTX 3090]\n10df  X\n"
    (card,) = bus(CARD, {f"{AT}/driver": "../../../bus/pci/drivers/nouveau"}, {"/usr/share/misc/pci.ids": ids})
    assert (card.address, card.vendor, card.device, card.class_code) == ("0000:01:00.0", "10de", "2204", "030000")
    assert (card.name, card.chip, card.generation, card.capability) == (
        "GA102 [GeForce RTX 3090]",
        "GA102",
        "Ampere",
        "8.6",
    )
    assert (card.driver, card.subsystem, card.revision, card.numa_node) == ("nouveau", "10de:1454", "a1", None)
    assert (card.link_generation, card.link_width, card.link_generation_max, card.link_width_max) == (1, 16, 4, 16)
    assert (card.integrated, card.gfx, card.bar1) == (False, None, 256 << 20)


@pytest.mark.parametrize(
    ("vendor", "device", "code", "role"),
    [
        ("0x10de", "0x2330", "0x030200", "gpu"),
        ("0x1002", "0x74a1", "0x120000", "gpu"),
        ("0x1a03", "0x2000", "0x030000", "gpu"),
        ("0x8086", "0x643e", "0x120000", "accelerator"),
        ("0x10de", "0x22a3", "0x068000", "switch"),
        ("0x15b3", "0x1021", "0x020700", "network"),
        ("0x15b3", "0x1021", "0x020000", "network"),
        ("0x8086", "0x1572", "0x020000", None),
        ("0x10de", "0x228e", "0x040300", None),
        ("0x8086", "0x4660", "0x060400", None),
    ],
)
def test_which_devices_matter(vendor: str, device: str, code: str, role: str | None) -> None:
    found = bus({"vendor": vendor, "device": device, "class": code})
    assert [card.role for card in found] == ([role] if role else [])


def test_only_two_files_are_read_of_a_device_that_does_not_matter() -> None:
    machine = RecordedMachine(
        {f"{AT}/vendor": "0x8086\n", f"{AT}/class": "0x060400\n"}, errors={f"{AT}/config": "EIO", f"{AT}/device": "EIO"}
    )
    assert probe(machine, Host()) == ()


def test_a_sleeping_gpu_is_not_asked_for_its_link() -> None:
    (card,) = bus(CARD | {"power/runtime_status": "suspended", "power_state": "D3cold"})
    assert card.runtime_status == "suspended"
    assert isinstance(card.link_width, Unknown)
    assert isinstance(card.link_generation_max, Unknown)


@pytest.mark.parametrize(
    ("speed", "width", "expected"),
    [
        ("32.0 GT/s PCIe", "8", (5, 8)),
        ("64.0 GT/s PCIe", "16", (6, 16)),
        ("5 GT/s", "4", (2, 4)),  # before Linux 5.7
        (
            "Unknown",
            "63",
            (Unknown("current_link_speed contains 'Unknown'"), Unknown("current_link_width contains '63'")),
        ),
        ("Unknown", "0", (None, None)),
    ],
)
def test_link_values(speed: str, width: str, expected: object) -> None:
    (card,) = bus(CARD | {"current_link_speed": speed, "current_link_width": width})
    assert (card.link_generation, card.link_width) == expected


def test_no_link_without_the_files_or_inside_the_root_complex() -> None:
    (card,) = bus({name: text for name, text in CARD.items() if "link" not in name})
    assert (card.link_generation, card.link_width_max) == (None, None)
    inside = {"max_link_speed": "Unknown", "max_link_width": "0", "current_link_speed": "Unknown"}
    (card,) = bus(CARD | inside | {"current_link_width": "0"})
    assert (card.link_generation, card.link_width, card.link_width_max) == (None, None, None)


def test_the_slot_bounds_the_card() -> None:
    files = {f"{REAL}/{name}": text for name, text in CARD.items()}
    files |= {
        "/sys/devices/pci0000:00/0000:00:01.0/max_link_speed": "8.0 GT/s PCIe",
        "/sys/devices/pci0000:00/0000:00:01.0/max_link_width": "8",
    }
    found = probe(RecordedMachine(files, links={AT: REAL}, folders=("/sys/bus/pci/devices",)), Host())
    assert not isinstance(found, Unknown)
    assert (found[0].link_generation_max, found[0].link_width_max) == (3, 8)


def test_amds_link_is_before_the_switch_on_the_card() -> None:
    """The link between a Navi's own switch and its GPU runs at full speed in a slot of four lanes too."""
    root = "/sys/devices/pci0000:00/0000:00:01.1"
    switch, inner = f"{root}/0000:01:00.0", f"{root}/0000:01:00.0/0000:02:00.0"
    gpu = f"{inner}/0000:03:00.0"
    full = {"current_link_speed": "16.0 GT/s PCIe", "max_link_speed": "16.0 GT/s PCIe", "max_link_width": "16"}
    files = {f"{gpu}/{n}": t for n, t in (CARD | full | {"vendor": "0x1002", "device": "0x744c"}).items()}
    for bridge, width in ((switch, "4"), (inner, "16")):
        values = {"class": "0x060400", "vendor": "0x1002", "current_link_width": width, **full}
        files |= {f"{bridge}/{name}": text for name, text in values.items()}
    files |= {f"{root}/class": "0x060400", f"{root}/vendor": "0x1022", f"{root}/max_link_speed": "16.0 GT/s PCIe"}
    links = {"/sys/bus/pci/devices/0000:03:00.0": gpu}
    found = probe(RecordedMachine(files, links=links, folders=("/sys/bus/pci/devices",)), Host())
    assert not isinstance(found, Unknown)
    assert (found[0].link_generation, found[0].link_width, found[0].link_width_max) == (4, 4, 16)
    assert (found[0].gfx, found[0].integrated, found[0].capability) == ("gfx1100", False, None)


def test_windows_into_the_memory() -> None:
    wide = "0x44042000000 0x44042ffffff 0x000000000014220c\n" + UNUSED
    hopper = wide + "0x42000000000 0x43fffffffff 0x000000000014220c\n" + 4 * UNUSED
    assert bus(CARD | {"resource": hopper})[0].bar1 == 128 << 30
    none = ROWS_32.splitlines()[0] + "\n0x0000000000000000 0x000000000fffffff 0x000000002014220c\n" + 5 * UNUSED
    assert bus(CARD | {"resource": none})[0].bar1 == 0
    assert isinstance(bus(CARD | {"resource": ""})[0].bar1, Unknown)


def test_an_id_newer_than_the_tables() -> None:
    (card,) = bus(CARD | {"device": "0xfffe"})
    assert isinstance(card.chip, Unknown)
    assert isinstance(card.name, Unknown)  # there is no pci.ids
    (named,) = bus(CARD | {"device": "0xfffe"}, files={"/usr/share/hwdata/pci.ids": "\n10de  N\n\tfffe  AD102 [New]\n"})
    assert (named.chip, named.capability) == ("AD102", "8.9")


def test_no_bus_and_no_sysfs() -> None:
    assert probe(RecordedMachine(), Host()) == Unknown("/sys is not mounted")
    assert probe(RecordedMachine(folders=("/sys/bus/usb",)), Host()) == ()
    assert isinstance(probe(RecordedMachine(folders=("/sys/bus/pci",)), Host(wsl=None)), Unknown)
    assert probe(RecordedMachine(folders=("/sys/bus/pci",)), Host(wsl=2)) == ()


@pytest.mark.parametrize(
    ("vendor", "device", "revision", "subsystem", "name"),
    [
        ("0x1002", "0x744c", "0xc8", "0x0e3b", "AMD Radeon RX 7900 XTX"),
        ("0x1002", "0x744c", "0x00", "0x0e3b", "AMD Navi 31"),
        ("0x10de", "0x2204", "0xa1", "0x1454", "NVIDIA GeForce RTX 3090"),
        ("0x10de", "0x2235", "0xa1", "0x145a", "NVIDIA A40"),
        ("0x10de", "0x22ff", "0xa1", "0x0000", None),
        ("0x8086", "0x56a0", "0x08", "0x1020", "Intel Arc A770"),
        ("0x8086", "0xe218", "0x00", "0x0000", "Intel Arc B-series (Battlemage)"),
        ("0x1a03", "0x2000", "0x41", "0x0000", None),
    ],
)
def test_a_slim_container_has_no_pci_ids(
    vendor: str, device: str, revision: str, subsystem: str, name: str | None
) -> None:
    (card,) = bus(
        CARD
        | {"vendor": vendor, "device": device, "revision": revision, "subsystem_device": subsystem}
        | {"subsystem_vendor": vendor}
    )
    assert card.name == (name or Unknown("there is no pci.ids here"))


def test_the_revision_of_an_amd_card_says_more_than_pci_ids() -> None:
    ids = {"/usr/share/misc/pci.ids": "1002  AMD\n\t744c  Navi 31 [Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M]\n"}
    of = CARD | {"vendor": "0x1002", "device": "0x744c"}
    assert bus(of | {"revision": "0xcc"}, files=ids)[0].name == "AMD Radeon RX 7900 XT"
    assert bus(of | {"revision": "0x00"}, files=ids)[0].name == "Navi 31 [Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M]"
