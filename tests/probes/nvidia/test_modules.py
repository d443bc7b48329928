"""Tests of the search for nvidia.ko."""

import pytest

from gpudoctor.child import ChildResult
from gpudoctor.maybe import Unknown
from gpudoctor.probes.nvidia import modules
from gpudoctor.recorded_machine import RecordedMachine

RELEASE = "6.8.0-60-generic"
BASE = f"/lib/modules/{RELEASE}"


@pytest.mark.parametrize(
    "place",
    [
        "updates/dkms/nvidia.ko",
        "updates/dkms/nvidia-current.ko.xz",
        "updates/dkms/nvidia-legacy-390xx.ko",
        "updates/dkms/nvidia-tesla-470.ko",
        "extra/nvidia/nvidia.ko.xz",
        "extra/nvidia.ko.xz",
        "extramodules/nvidia.ko.zst",
        "kernel/drivers/video/nvidia.ko",
        "kernel/nvidia-570-open/nvidia.ko.zst",
        "weak-updates/nvidia/nvidia.ko",
        "extras/nvidia.ko",
        "video/nvidia.ko",
        "misc/nvidia.ko.gz",
    ],
)
def test_every_usual_place_is_looked_into(place: str) -> None:
    assert modules.modules_of(RecordedMachine({f"{BASE}/{place}": ""}), RELEASE) == [f"{BASE}/{place}"]


@pytest.mark.parametrize(
    "name", ["nvidia-uvm.ko", "nvidia-current-drm.ko", "nvidiafb.ko", "nvidia-legacy-390xx-uvm.ko"]
)
def test_other_modules_of_nvidias_are_not_the_driver(name: str) -> None:
    assert modules.modules_of(RecordedMachine({f"{BASE}/updates/dkms/{name}": ""}), RELEASE) == []


def test_modules_dep_leads_to_unusual_places_and_may_be_stale() -> None:
    dep = "odd/place/nvidia-drm.ko.zst: odd/place/nvidia.ko.zst\nodd/place/nvidia.ko.zst:\nupdates/dkms/nvidia.ko:\n"
    files = {f"{BASE}/modules.dep": dep, f"{BASE}/odd/place/nvidia.ko.zst": ""}
    assert modules.modules_of(RecordedMachine(files), RELEASE) == [f"{BASE}/odd/place/nvidia.ko.zst"]


def test_a_module_reached_over_two_ways_is_one() -> None:
    files = {f"/usr{BASE}/updates/nvidia.ko": "", f"/usr{BASE}/modules.dep": "updates/nvidia.ko:\n"}
    machine = RecordedMachine(files, links={"/lib": "usr/lib"})
    assert modules.modules_of(machine, RELEASE) == [f"{BASE}/updates/nvidia.ko"]


def test_other_kernels_are_listed_without_running_anything() -> None:
    files = {f"{BASE}/modules.dep": "", "/lib/modules/6.8.0-52-generic/updates/dkms/nvidia.ko": ""}
    machine = RecordedMachine(files, commands={"modinfo": "version: 1"})
    assert [m.kernel for m in modules.other_kernels(machine, RELEASE)] == ["6.8.0-52-generic"]
    assert machine.ran == []


def test_a_modinfo_that_answers_single_fields_only_is_asked_for_them() -> None:
    path = f"{BASE}/updates/nvidia.ko"
    commands = {
        "modinfo": "",
        f"modinfo -F version {path}": "550.90.07\n",
        f"modinfo -F license {path}": "NVIDIA\n",
    }
    module = modules.describe(RecordedMachine({path: ""}, commands=commands), RELEASE, path)
    assert (module.version, module.flavor, module.signer) == ("550.90.07", "proprietary", None)


def test_a_failing_modinfo_leaves_its_own_words() -> None:
    path = f"{BASE}/updates/nvidia.ko"
    failed = ChildResult(argv=("modinfo",), code=1, err=f"modinfo: ERROR: could not open {path}: Permission denied\n")
    module = modules.describe(RecordedMachine({path: ""}, commands={"modinfo": failed}), RELEASE, path)
    assert module.version == Unknown(f"modinfo: modinfo: ERROR: could not open {path}: Permission denied")


@pytest.mark.parametrize(("tail", "signed"), [(b"\n", False), (b"~Module signature appended~\n", True)])
def test_without_modinfo_the_file_itself_is_read(tail: bytes, signed: bool) -> None:
    section = b"license=Dual MIT/GPL\0version=570.86.15\0supported=external\0vermagic=6.8.0-60-generic SMP \0"
    path = f"{BASE}/updates/nvidia.ko"
    module = modules.describe(RecordedMachine({path: b"\x7fELF" + b"\0" * 9000 + section + tail}), RELEASE, path)
    assert (module.version, module.flavor, module.vermagic) == ("570.86.15", "open", RELEASE)
    assert module.signer == (Unknown("the module is signed, but modinfo does not name the signer") if signed else None)


def test_without_modinfo_a_compressed_module_stays_unknown() -> None:
    path = f"{BASE}/updates/nvidia.ko.zst"
    module = modules.describe(RecordedMachine({path: b"vermagic="}), RELEASE, path)
    assert module.version == Unknown("modinfo: command not found")


def test_modprobes_own_search_finds_what_we_do_not() -> None:
    answer = "filename:       /opt/modules/nvidia.ko\nversion:        550.54.14\nlicense:        NVIDIA\n"
    found = modules.on_disk(RecordedMachine(commands={"modinfo nvidia": answer}), RELEASE)
    assert [(m.path, m.version) for m in found] == [("/opt/modules/nvidia.ko", "550.54.14")]


def test_no_module_at_all_is_an_empty_answer() -> None:
    missing = ChildResult(argv=("modinfo",), code=1, err="modinfo: ERROR: Module nvidia not found.\n")
    assert modules.on_disk(RecordedMachine(commands={"modinfo": missing}), RELEASE) == ()


def test_when_the_file_was_installed() -> None:
    path = f"{BASE}/updates/dkms/nvidia.ko"
    commands = {f"modinfo {path}": "version: 570.169\n"}
    assert modules.on_disk(RecordedMachine({path: ""}, commands=commands, ages={path: 60.0}), RELEASE)[0].age == 60.0
    unseen = modules.on_disk(RecordedMachine({path: ""}, commands=commands), RELEASE)[0].age
    assert unseen == Unknown(f"{path}: its time cannot be read")
