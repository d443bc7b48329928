"""AMD's cards in sysfs: partitions, hive, bad pages, clocks held; and a card that sleeps or is not amdgpu's."""

import msgspec

from gpudoctor.facts import PciDevice
from gpudoctor.facts.amd import Board
from gpudoctor.maybe import Unknown
from gpudoctor.probes.amd.boards import boards
from gpudoctor.recorded_machine import RecordedMachine

CARD = PciDevice(
    address="0000:0a:00.0",
    vendor="1002",
    device="74a1",
    class_code="120000",
    driver="amdgpu",
    runtime_status="active",
)
FOLDER = "/sys/bus/pci/devices/0000:0a:00.0"
MI300X = {
    f"{FOLDER}/vendor": "0x1002\n",
    f"{FOLDER}/current_compute_partition": "CPX\n",
    f"{FOLDER}/current_memory_partition": "NPS4\n",
    f"{FOLDER}/xgmi_hive_info/xgmi_hive_id": "13154872410235392\n",
    f"{FOLDER}/power_dpm_force_performance_level": "auto\n",
    f"{FOLDER}/mem_info_vram_total": "206141652992\n",
    f"{FOLDER}/ras/gpu_vram_bad_pages": (
        "0x027f5d43 : 0x00001000 : R\n0x027f5d4b : 0x00001000 : R\n0x027f5d53 : 0x00001000 : P\n"
        "0x027f5d5b : 0x00001000 : F\n"
    ),
}


def test_an_instinct_card() -> None:
    assert boards(RecordedMachine(MI300X), [CARD]) == (
        Board(
            address="0000:0a:00.0",
            compute_partition="CPX",
            memory_partition="NPS4",
            hive="13154872410235392",
            pages_retired=2,
            pages_pending=2,
            vram=206141652992,
            performance_level="auto",
        ),
    )


def test_what_a_card_has_not_is_none_and_what_nobody_can_say_is_unknown() -> None:
    (plain,) = boards(RecordedMachine({f"{FOLDER}/vendor": "0x1002"}), [CARD])
    assert plain == Board(
        address="0000:0a:00.0",
        compute_partition=None,
        memory_partition=None,
        hive=None,
        pages_retired=None,
        pages_pending=None,
        vram=Unknown("amdgpu shows no mem_info_vram_total for this GPU"),
        performance_level=None,
    )
    files = {f"{FOLDER}/vendor": "0x1002", f"{FOLDER}/current_compute_partition": "UNKNOWN\n"}
    (vague,) = boards(RecordedMachine(files), [CARD])
    assert isinstance(vague.compute_partition, Unknown)
    (hidden,) = boards(RecordedMachine(), [CARD])
    assert isinstance(hidden.hive, Unknown)


def test_a_sleeping_card_is_not_woken() -> None:
    (asleep,) = boards(RecordedMachine(MI300X), [msgspec.structs.replace(CARD, runtime_status="suspended")])
    assert isinstance(asleep.performance_level, Unknown)
    assert isinstance(asleep.pages_retired, Unknown)


def test_what_a_sleeping_card_has_not_can_be_seen() -> None:
    files = {f"{FOLDER}/vendor": "0x1002", f"{FOLDER}/power_dpm_force_performance_level": "auto"}
    (asleep,) = boards(RecordedMachine(files), [msgspec.structs.replace(CARD, runtime_status="suspended")])
    assert isinstance(asleep.performance_level, Unknown)
    assert (asleep.compute_partition, asleep.pages_pending, asleep.hive) == (None, None, None)


def test_only_cards_that_amdgpu_drives() -> None:
    others = [msgspec.structs.replace(CARD, driver=driver) for driver in ("vfio-pci", "radeon", None)]
    assert boards(RecordedMachine(MI300X), others) == ()
