"""Tests of the probe of NVIDIA's device nodes."""

from gpudoctor.facts import PciDevice
from gpudoctor.machine import Status
from gpudoctor.maybe import Unknown
from gpudoctor.probes.nvidia import nodes
from gpudoctor.recorded_machine import RecordedMachine


def node(minor: int, mode: int = 0o666, gid: int = 0, major: int = 195) -> Status:
    return Status(mode, 0, gid, 0, major, minor, False)


def card(address: str, status: str) -> PciDevice:
    return PciDevice(address=address, vendor="10de", device="2684", class_code="030000", runtime_status=status)


def test_nodes_with_their_rights_and_what_opening_them_gives() -> None:
    statuses = {
        "/dev/nvidia10": node(10),
        "/dev/nvidia2": node(2, 0o660, 44),
        "/dev/nvidiactl": node(255),
        "/dev/nvidia-uvm": node(0, major=507),
        "/dev/nvidia-caps/nvidia-cap1": node(1, 0o400, major=239),
        "/dev/nvme0": node(0),
    }
    seen = nodes.probe(RecordedMachine(statuses=statuses, errors={"/dev/nvidia2": "EACCES"}), ())
    assert [n.path for n in seen] == [
        "/dev/nvidia2", "/dev/nvidia10", "/dev/nvidia-uvm", "/dev/nvidiactl", "/dev/nvidia-caps/nvidia-cap1",
    ]  # fmt: skip
    first = seen[0]
    assert (first.mode, first.gid, first.major, first.minor, first.error) == ("660", 44, 195, 2, "EACCES")
    assert (seen[1].error, seen[2].major) == (None, 507)
    assert seen[4].error == Unknown("not opened: not needed for computing")


def test_a_sleeping_gpu_is_not_opened_but_its_neighbour_is() -> None:
    statuses = {"/dev/nvidia0": node(0), "/dev/nvidia1": node(1), "/dev/nvidiactl": node(255)}
    files = {"/proc/driver/nvidia/gpus/0000:02:00.0/information": "Model: \t\t X\nDevice Minor: \t 1\n"}
    cards = (card("0000:01:00.0", "active"), card("0000:02:00.0", "suspended"))
    seen = nodes.probe(RecordedMachine(files, statuses=statuses), cards)
    assert [n.error for n in seen] == [None, Unknown("the GPU sleeps: not opened"), None]


def test_no_gpu_is_opened_where_the_sleeping_ones_number_is_unknown() -> None:
    statuses = {"/dev/nvidia0": node(0), "/dev/nvidia1": node(1)}
    seen = nodes.probe(RecordedMachine(statuses=statuses), (card("0000:02:00.0", "suspended"),))
    assert all(isinstance(n.error, Unknown) for n in seen)
