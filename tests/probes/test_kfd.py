"""AMD's GPUs: targets and addresses decoded, values of sysfs scaled, and groups of devices that hide a GPU."""

import msgspec
import pytest

from gpudoctor.facts import Gpu, PciDevice
from gpudoctor.maybe import Unknown, known
from gpudoctor.probes.amd.kfd import address, gpus
from gpudoctor.probes.device_nodes import TOPOLOGY as NODES
from gpudoctor.recorded_machine import RecordedMachine

CPU = {f"{NODES}/0/properties": "cpu_cores_count 16\nsimd_count 0\ngfx_target_version 0\n", f"{NODES}/0/gpu_id": "0\n"}
# Shortened from an MI308X's node.
PROPERTIES = (
    "cpu_cores_count 0\nsimd_count 80\ngfx_target_version 90402\nvendor_id 4098\ndevice_id 29858\n"
    "location_id 2560\ndomain 0\ndrm_render_minor 128\nlocal_mem_size 0\nunique_id 598046273873802902\n"
)
PCI = "/sys/bus/pci/devices/0000:0a:00.0"
CARD = PciDevice(
    address="0000:0a:00.0",
    vendor="1002",
    device="74a2",
    class_code="120000",
    name="Aqua Vanjaram [Instinct MI308X]",
    chip="Aqua Vanjaram",
    gfx="gfx942",
    integrated=False,
    runtime_status="active",
    link_generation=5,
    link_width=16,
    link_generation_max=5,
    link_width_max=16,
    numa_node=1,
)
SYSFS = {
    "mem_info_vram_total": "206141652992",
    "mem_info_vram_used": "297639936",
    "gpu_busy_percent": "4",
    "pcie_replay_count": "0",
    "vbios_version": "113-M3080202-101",
    "pp_dpm_sclk": "0: 132Mhz *\n1: 2100Mhz",
    "hwmon/hwmon3/temp1_input": "45000",
    "hwmon/hwmon3/temp1_crit": "100000",
    "hwmon/hwmon3/power1_average": "131500000",
    "hwmon/hwmon3/power1_cap": "650000000",
    "hwmon/hwmon3/power1_cap_max": "750000000",
    "hwmon/hwmon3/freq1_input": "132000000",
    "ras/umc_err_count": "ue: 2\nce: 17",
    "ras/gfx_err_count": "ue: 1\nce: 0",
    "ras/features": "feature mask: 0x7f",
}


def one(files: dict[str, str], card: PciDevice = CARD) -> Gpu:
    found = gpus(RecordedMachine({**CPU, **files}), [card])
    assert not isinstance(found, Unknown)
    (gpu,) = found
    return gpu


@pytest.mark.parametrize(
    ("location", "domain", "expected"),
    [
        (2560, 0, "0000:0a:00.0"),
        (0xC5A1, 0x10, "0010:c5:14.1"),
        (0x30000A00, 0, "0000:0a:00.0"),  # the third partition of the same GPU
    ],
)
def test_addresses(location: int, domain: int, expected: str) -> None:
    assert address(location, domain) == expected


def test_a_gpu() -> None:
    gpu = one({f"{NODES}/1/properties": PROPERTIES, **{f"{PCI}/{name}": text for name, text in SYSFS.items()}})
    assert (gpu.vendor, gpu.index, gpu.address, gpu.gfx, gpu.capability) == ("amd", 0, "0000:0a:00.0", "gfx942", None)
    assert (gpu.name, gpu.chip, gpu.integrated, gpu.status) == (CARD.name, "Aqua Vanjaram", False, "ok")
    assert gpu.uuid == f"GPU-{598046273873802902:016x}"
    assert (gpu.memory, gpu.memory_used, gpu.utilization) == (206141652992, 297639936, 4)
    assert (gpu.temperature, gpu.temperature_slowdown) == (45, 100)
    assert (gpu.power, gpu.power_limit, gpu.power_max) == (131.5, 650.0, 750.0)
    assert (gpu.sm_clock, gpu.sm_clock_max) == (132, 2100)
    assert (gpu.ecc, gpu.ecc_uncorrected, gpu.pcie_replays) == (True, 3, 0)
    assert (gpu.link_generation, gpu.link_width, gpu.numa_node) == (5, 16, 1)
    assert (gpu.render_node, gpu.vbios, gpu.serial) == ("/dev/dri/renderD128", "113-M3080202-101", None)
    assert (gpu.mig, gpu.compute_mode, gpu.nvlinks) == (None, None, None)
    assert gpu.wave_area is None
    (newer,) = known(
        gpus(RecordedMachine({**CPU, f"{NODES}/1/properties": f"{PROPERTIES}cwsr_size 30408704\n"}), [CARD])
    )
    assert newer.wave_area == 30408704


def test_what_sysfs_does_not_show_is_unknown_and_what_a_card_lacks_is_none() -> None:
    gpu = one({f"{NODES}/1/properties": PROPERTIES, f"{PCI}/vendor": "0x1002"})
    for value in (gpu.memory, gpu.memory_used, gpu.utilization, gpu.power, gpu.temperature, gpu.sm_clock):
        assert isinstance(value, Unknown)
    assert (gpu.ecc, gpu.ecc_uncorrected) == (None, None)
    hidden = one({f"{NODES}/1/properties": PROPERTIES})
    assert isinstance(hidden.ecc, Unknown)
    assert isinstance(hidden.vbios, Unknown)


def test_a_sleeping_gpu_is_not_read() -> None:
    sleeping = PciDevice(
        address=CARD.address, vendor="1002", device="744c", class_code="030000", runtime_status="suspended"
    )
    files = {f"{NODES}/1/properties": PROPERTIES, **{f"{PCI}/{name}": text for name, text in SYSFS.items()}}
    gpu = one(files, sleeping)
    assert gpu.gfx == "gfx942"
    for value in (gpu.utilization, gpu.temperature, gpu.power, gpu.ecc_uncorrected):
        assert isinstance(value, Unknown)
        assert "sleeps" in value.unknown


def test_partitions_have_their_own_memory_and_the_order_is_numeric() -> None:
    bank = "heap_type 1\nsize_in_bytes 25769803776\n"
    files = {f"{NODES}/{n}/properties": PROPERTIES for n in (2, 10, 1)}
    files |= {f"{NODES}/{n}/mem_banks/0/properties": bank for n in (2, 10, 1)}
    files[f"{NODES}/10/properties"] = PROPERTIES.replace("90402", "110000")
    found = gpus(RecordedMachine({**CPU, **files}), [CARD])
    assert not isinstance(found, Unknown)
    assert [(g.index, g.gfx, g.memory) for g in found] == [
        (0, "gfx942", 25769803776),
        (1, "gfx942", 25769803776),
        (2, "gfx1100", 25769803776),
    ]


def test_the_render_node_names_the_device() -> None:
    links = {"/sys/class/drm/renderD128/device": "../../../0000:c1:00.0"}
    found = gpus(RecordedMachine({**CPU, f"{NODES}/1/properties": PROPERTIES}, links=links), [CARD])
    assert not isinstance(found, Unknown)
    assert found[0].address == "0000:c1:00.0"
    assert isinstance(found[0].chip, Unknown)


def test_no_topology_and_a_closed_one() -> None:
    assert gpus(RecordedMachine(), [CARD]) == ()
    path = f"{NODES}/1/properties"
    closed = gpus(RecordedMachine({**CPU, path: PROPERTIES}, errors={path: "EPERM"}), [CARD])
    assert isinstance(closed, Unknown)
    assert "not given the GPU" in closed.unknown


def test_a_partition_whose_number_is_in_the_location_lies_on_its_gpu() -> None:
    second = PROPERTIES.replace("location_id 2560", "location_id 2561").replace("minor 128", "minor 129")
    found = gpus(
        RecordedMachine(
            {
                **CPU,
                f"{NODES}/1/properties": PROPERTIES,
                f"{NODES}/2/properties": second,
                f"{PCI}/vendor": "0x1002",
            }
        ),
        [CARD],
    )
    assert not isinstance(found, Unknown)
    assert [(gpu.address, gpu.render_node, gpu.integrated) for gpu in found] == [
        ("0000:0a:00.0", "/dev/dri/renderD128", False),
        ("0000:0a:00.0", "/dev/dri/renderD129", False),
    ]


def test_a_gpu_that_nothing_names_has_its_product_or_its_chip() -> None:
    node = {f"{NODES}/1/properties": PROPERTIES, f"{NODES}/1/name": "gfx942\n"}
    nameless = msgspec.structs.replace(CARD, name=Unknown("there is no pci.ids here"))
    assert one(node, nameless).name == "AMD Instinct MI308X"
    navi = PROPERTIES.replace("device_id 29858", f"device_id {0x744C}")
    for properties, name in ((PROPERTIES, "AMD Instinct MI308X"), (navi, "AMD Navi 31"), ("simd_count 80\n", "gfx942")):
        (gpu,) = known(gpus(RecordedMachine({**CPU, **node, f"{NODES}/1/properties": properties}), ()))
        assert gpu.name == name  # the node alone names the device
