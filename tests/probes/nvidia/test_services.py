"""Tests of the probe of NVIDIA's daemons and switches."""

import pytest

from gpudoctor.child import ChildResult
from gpudoctor.facts import Host, PciDevice
from gpudoctor.maybe import Unknown
from gpudoctor.probes.nvidia import services
from gpudoctor.recorded_machine import RecordedMachine

BARE = Host(container=None, wsl=None, virtual=None, platform="bare")
GUEST = Host(container=None, wsl=None, virtual="kvm", platform="vm")
LAPTOP = Host(container=None, wsl=None, virtual=None, platform="laptop")
SWITCH = PciDevice(address="0000:86:00.0", vendor="10de", device="22a3", class_code="068000", role="switch")
GEFORCE = PciDevice(address="0000:01:00.0", vendor="10de", device="2684", class_code="030000")
UNIT = "/usr/lib/systemd/system/nvidia-fabricmanager.service"


def ended(out: str, code: int, err: str = "") -> ChildResult:
    return ChildResult(argv=(), code=code, out=out, err=err)


def test_the_fabric_manager_is_asked_only_where_there_are_nvswitches() -> None:
    machine = RecordedMachine(commands={"systemctl": "active\n"})
    assert isinstance(services.probe(machine, BARE, (GEFORCE,)).fabric_manager, Unknown)
    assert machine.ran == []
    assert services.probe(machine, BARE, (SWITCH,)).fabric_manager == "active"


@pytest.mark.parametrize(
    ("answer", "files", "state"),
    [
        (ended("inactive\n", 3), {UNIT: ""}, "inactive"),
        (ended("failed\n", 3), {}, "failed"),
        (ended("inactive\n", 3), {"/etc/systemd/system/nvidia-fabricmanager.service": ""}, "masked"),
        (ended("inactive\n", 3), {"/etc/systemd/system/nvidia-fabricmanager.service": "[Unit]\n"}, "inactive"),
        (ended("active\n", 0), {"/etc/systemd/system/nvidia-fabricmanager.service": ""}, "active"),
        (ended("inactive\n", 4), {}, None),
        (ChildResult(argv=(), missing="command not found"), {}, None),
        (
            ended("", 1, "System has not been booted with systemd as init system\n"),
            {UNIT: ""},
            Unknown("systemctl is-active nvidia-fabricmanager: System has not been booted with systemd as init system"),
        ),
    ],
)
def test_systemds_word_for_the_fabric_manager(answer: ChildResult, files: dict[str, str], state: object) -> None:
    machine = RecordedMachine(files, commands={"systemctl": answer})
    assert services.probe(machine, BARE, (SWITCH,)).fabric_manager == state


def test_the_fabric_managers_version() -> None:
    machine = RecordedMachine(
        commands={"nv-fabricmanager": "Fabric Manager version is : 570.133.20\n", "systemctl": "active"}
    )
    assert services.probe(machine, BARE, (SWITCH,)).fabric_manager_version == "570.133.20"


B200 = PciDevice(
    address="0000:1b:00.0", vendor="10de", device="2901", class_code="030200", role="gpu", generation="Blackwell"
)
IMEX = "/usr/lib/systemd/system/nvidia-imex.service"


def test_the_subnet_manager_is_looked_for_on_boards_that_need_it() -> None:
    path = "/opt/nvidia/nvlsm/sbin/nvlsm"
    machine = RecordedMachine({path: ""}, commands={"systemctl": "active\n"})
    assert services.probe(machine, BARE, (B200,)).subnet_manager == path
    assert services.probe(RecordedMachine(), BARE, (B200,)).subnet_manager is None
    assert isinstance(services.probe(machine, BARE, (SWITCH, GEFORCE)).subnet_manager, Unknown)


def test_imex_is_asked_only_where_it_is_installed() -> None:
    machine = RecordedMachine({IMEX: ""}, commands={"systemctl": ended("failed\n", 3)})
    assert services.probe(machine, BARE, ()).imex == "failed"
    assert machine.ran == ["systemctl is-active nvidia-imex"]
    silent = RecordedMachine({})
    assert services.probe(silent, BARE, ()).imex is None
    assert silent.ran == []


def test_a_container_does_not_see_its_hosts_daemons() -> None:
    host = Host(container="docker", wsl=None, virtual=None)
    assert services.probe(RecordedMachine(), host, (SWITCH,)).fabric_manager == services.HOSTS


@pytest.mark.parametrize(
    ("files", "state"),
    [
        ({}, None),
        ({"/lib/systemd/system/nvidia-persistenced.service": ""}, "inactive"),
        ({"/run/nvidia-persistenced/socket": ""}, "active"),
    ],
)
def test_the_persistence_daemon_is_known_by_its_socket(files: dict[str, str], state: str | None) -> None:
    assert services.probe(RecordedMachine(files), BARE, ()).persistence_daemon == state


@pytest.mark.parametrize(
    ("model", "virtual"),
    [("GRID T4-8C", True), ("NVIDIA A40-48Q", True), ("NVIDIA A100-4-20C", True), ("NVIDIA A100-SXM4-40GB", False),
     ("Tesla T4", False), ("NVIDIA H100-80C", True), ("NVIDIA GeForce RTX 4090", False),
     ("NVIDIA H100 80GB HBM3", False)],
)  # fmt: skip
def test_a_virtual_gpu_is_known_by_its_profile(model: str, virtual: bool) -> None:
    files = {"/proc/driver/nvidia/gpus/0000:01:00.0/information": f"Model: \t\t {model}\nIRQ:  \t\t 33\n"}
    assert services.is_vgpu(RecordedMachine(files), GUEST) is virtual
    assert services.is_vgpu(RecordedMachine(files), BARE) is False


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("    vGPU Software Licensed Product\n        License Status                    : Unlicensed (Restricted)\n",
         "Unlicensed (Restricted)"),
        ("        License Status : Licensed (Expiry: 2026-3-1 9:0:0 GMT)\n", "Licensed (Expiry: 2026-3-1 9:0:0 GMT)"),
        ("        License Status : Licensed (Expiry: N/A)\n        License Status : Unlicensed\n", "Unlicensed"),
        ("        License Status : N/A\n", None),
    ],
)  # fmt: skip
def test_the_license_as_nvidia_smi_words_it(text: str, state: str | None) -> None:
    machine = RecordedMachine({"/etc/nvidia/gridd.conf": ""}, commands={"nvidia-smi": text, "systemctl": "active"})
    seen = services.probe(machine, GUEST, ())
    assert (seen.license, seen.gridd) == (state, "active")


def test_the_switches_of_laptops() -> None:
    files = {"/proc/acpi/bbswitch": "0000:01:00.0 OFF\n"}
    machine = RecordedMachine(files, commands={"prime-select": "intel\n"})
    seen = services.probe(machine, LAPTOP, ())
    assert (seen.bbswitch, seen.prime) == ("OFF", "intel")
    assert services.probe(machine, BARE, ()).prime is None
    assert services.probe(RecordedMachine(), LAPTOP, ()).bbswitch is None


SLICE = "/sys/fs/cgroup/system.slice/cron.service/cgroup.procs"
POWERD, SHIPPED = "/usr/bin/nvidia-powerd", "/usr/share/doc/nvidia-kernel-common-595"
FILES = (f"{SHIPPED}/nvidia-powerd.service", f"{SHIPPED}/nvidia-dbus.conf")
PROGRAMS = {POWERD: "", "/usr/bin/systemctl": ""}
ACPI = {"/sys/bus/acpi/devices/PNP0C0A:00/hid": ""}
POWER = "/proc/driver/nvidia/gpus/0000:01:00.0/power"
BOOST = "Runtime D3 status:          Disabled by default\nVideo Memory:               Active\n"
YES, NO = f"{BOOST}\nNotebook Dynamic Boost:     Supported\n", f"{BOOST}\nNotebook Dynamic Boost:     Not Supported\n"
POWERD_UNIT = {"/etc/systemd/system/nvidia-powerd.service": ""}


@pytest.mark.parametrize(
    ("files", "state", "shipped"),
    [
        ({}, None, ()),
        ({"/usr/bin/systemctl": "", SLICE: ""}, None, ()),
        (PROGRAMS | {SLICE: "", **dict.fromkeys(FILES, "")}, "no-unit", FILES),
        (PROGRAMS | {SLICE: ""}, "no-unit", ()),
        (PROGRAMS | POWERD_UNIT | {SLICE: ""}, "inactive", ()),
        (PROGRAMS | POWERD_UNIT, Unknown("the cgroups of systemd's services cannot be seen"), ()),
        (PROGRAMS | {"/sys/fs/cgroup/system.slice/nvidia-powerd.service/cgroup.procs": ""}, "active", ()),
        ({"/sys/fs/cgroup/systemd/system.slice/nvidia-powerd.service/tasks": ""}, "active", ()),  # version 1, NixOS
        (PROGRAMS | POWERD_UNIT | ACPI | {SLICE: ""}, "unsupported", ()),
        (PROGRAMS | POWERD_UNIT | ACPI | {SLICE: "", "/sys/bus/acpi/devices/NVDA0820:00/hid": ""}, "inactive", ()),
        ({POWERD: ""}, Unknown("there is no systemd"), ()),
        (PROGRAMS | POWERD_UNIT | {SLICE: "", POWER: NO}, "unsupported", ()),
        (PROGRAMS | POWERD_UNIT | {SLICE: "", POWER: YES}, "inactive", ()),
    ],
)
def test_the_power_daemon_is_known_without_a_child(
    files: dict[str, str], state: object, shipped: tuple[str, ...]
) -> None:
    machine = RecordedMachine(files, env={"PATH": "/usr/bin"})
    found = services.probe(machine, BARE, ())
    assert (found.power_daemon, found.power_daemon_files) == (state, shipped)
    assert machine.ran == []


@pytest.mark.parametrize(
    ("files", "boost"),
    [
        ({POWER: YES}, True),
        ({POWER: NO}, False),
        ({POWER: NO, POWER.replace("01:", "02:"): YES}, True),
        ({POWER: BOOST}, None),  # older drivers
        ({}, None),
    ],
)
def test_dynamic_boost_as_the_driver_reports_it(files: dict[str, str], boost: bool | None) -> None:
    assert services.probe(RecordedMachine(files), BARE, ()).dynamic_boost == boost
