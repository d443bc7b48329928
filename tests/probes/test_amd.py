"""AMD's driver: nodes and their errors, ROCm's release, packages and DKMS, and silence without AMD."""

import msgspec
import pytest

from gpudoctor.child import ChildResult
from gpudoctor.facts import Distribution, Dkms, Host, Kernel, PciDevice
from gpudoctor.machine import Status
from gpudoctor.maybe import Unknown
from gpudoctor.probes.amd import probe
from gpudoctor.probes.amd.packages import NAMES, packages, parse
from gpudoctor.probes.amd.rocm import release, releases
from gpudoctor.recorded_machine import RecordedMachine
from tests.probes.test_cuda_libraries import cache

CARD = PciDevice(address="0000:03:00.0", vendor="1002", device="744c", class_code="030000", runtime_status="active")
KFD = Status(0o660, 0, 992, 0, 235, 0, False)
RENDER = Status(0o660, 0, 992, 0, 226, 128, False)
UBUNTU = Host(distribution=Distribution(id="ubuntu", like=("debian",)), kernel=Kernel(command_line="quiet"))
DRM = {
    "/sys/class/drm/renderD128/device": "../../../0000:03:00.0",
    "/sys/class/drm/renderD129/device": "../../../0000:00:02.0",
}
SYS = {
    "/sys/module/amdgpu/refcnt": "1",
    "/sys/0000:03:00.0/vendor": "0x1002\n",
    "/sys/0000:00:02.0/vendor": "0x8086\n",
}
IN_ROCM = "/opt/rocm/lib/librocdxg.so"
NODES = {"/dev/kfd": KFD, "/dev/dri/renderD128": RENDER, "/dev/dri/renderD129": RENDER}


def test_nodes_and_what_opening_them_says() -> None:
    machine = RecordedMachine(SYS, links=DRM, statuses=NODES, errors={"/dev/kfd": "EACCES"})
    found = probe(machine, UBUNTU, [CARD])
    assert (found.loaded, found.version, found.topology, found.dkms) == (True, None, False, None)
    assert not isinstance(found.kfd, Unknown)
    assert not isinstance(found.render, Unknown)
    (kfd,), (render,) = found.kfd, found.render  # Intel's render node is none of ours
    assert (kfd.mode, kfd.gid, kfd.major, kfd.error) == ("660", 992, 235, "EACCES")
    assert (render.path, render.minor, render.error) == ("/dev/dri/renderD128", 128, None)


def test_a_container_without_the_nodes() -> None:
    found = probe(RecordedMachine(SYS, links=DRM), UBUNTU, [CARD])
    assert (found.kfd, found.render) == ((), ())


def test_a_sleeping_gpu_is_not_opened() -> None:
    card = PciDevice(
        address="0000:03:00.0", vendor="1002", device="744c", class_code="030000", runtime_status="suspended"
    )
    found = probe(RecordedMachine(SYS, links=DRM, statuses=NODES), UBUNTU, [card])
    assert not isinstance(found.render, Unknown)
    assert isinstance(found.render[0].error, Unknown)
    assert not isinstance(found.kfd, Unknown)
    assert found.kfd[0].error is None


def test_nothing_is_run_without_amd() -> None:
    machine = RecordedMachine(folders=("/sys/module/nvidia",), commands={"dkms": "x", "dpkg-query": "x"})
    found = probe(machine, UBUNTU, [])
    assert machine.ran == []
    assert (found.loaded, found.kfd, found.render, found.rocm) == (False, (), (), None)
    assert isinstance(found.packages, Unknown)
    assert probe(RecordedMachine(), UBUNTU, []).loaded == Unknown("/sys is not mounted")


def test_dkms_packages_and_blacklist() -> None:
    machine = RecordedMachine(
        {**SYS, "/etc/modprobe.d/amd.conf": "blacklist amdgpu\n"},
        commands={
            "dkms": "amdgpu/6.8.5-2009582.22.04, 6.8.0-60-generic, x86_64: installed\nnvidia/570.1: added\n",
            "dpkg-query": ChildResult(
                argv=(),
                code=1,
                out="amdgpu-dkms 1:6.8.5 ii \nrocm-core 6.2.0 ii \n",
                err="dpkg-query: no packages found matching rock-dkms\n",
            ),
        },
    )
    found = probe(machine, UBUNTU, [CARD])
    assert found.dkms == (
        Dkms(module="amdgpu", version="6.8.5-2009582.22.04", kernel="6.8.0-60-generic", state="installed"),
    )
    assert found.packages == (("amdgpu-dkms", "1:6.8.5", "ii"), ("rocm-core", "6.2.0", "ii"))
    assert found.blacklisted is True


def test_spellings_of_package_lists() -> None:
    listed = "ii  rocm-core:amd64  6.2.0  amd64  Radeon\niF  rock-dkms  1:3.7-20  all  rock-dkms driver\n"
    assert parse(listed) == (("rocm-core", "6.2.0", "ii"), ("rock-dkms", "1:3.7-20", "iF"))
    assert parse("rock-dkms\t1:3.7-20\n") == (("rock-dkms", "1:3.7-20", ""),)
    assert parse("amd-gpu-firmware-20251125-1.fc43.noarch\n") == (("amd-gpu-firmware", "20251125-1.fc43", "ii"),)
    assert parse("package rocm-core is not installed\namdgpu-dkms  un \n") == ()


def test_a_state_that_was_not_printed_is_looked_up() -> None:
    machine = RecordedMachine(
        commands={
            f"dpkg-query -l {' '.join(NAMES)}": "iF  rock-dkms  1:3.7-20  all  driver\n",
            "dpkg-query": "rock-dkms\t1:3.7-20\nhsa-rocr-dev\t1.2\n",
        }
    )
    assert packages(machine, UBUNTU) == (("rock-dkms", "1:3.7-20", "iF"), ("hsa-rocr-dev", "1.2", "ii"))


def test_other_distributions() -> None:
    rocky = Host(distribution=Distribution(id="rocky", like=("rhel", "centos", "fedora")))
    machine = RecordedMachine(commands={"rpm": "amdgpu-dkms 6.8.5-1.el9 ii\npackage rock-dkms is not installed\n"})
    assert packages(machine, rocky) == (("amdgpu-dkms", "6.8.5-1.el9", "ii"),)
    assert isinstance(packages(RecordedMachine(), rocky), Unknown)
    assert isinstance(packages(machine, Host(distribution=Distribution(id="arch"))), Unknown)


@pytest.mark.parametrize(
    ("files", "env", "expected"),
    [
        ({"/opt/rocm/.info/version": "6.3.4-104\n"}, {}, ("6.3.4", "/opt/rocm")),
        ({"/opt/rocm-6.1.0/.info/version": "6.1.0-82\n"}, {}, ("6.1.0", "/opt/rocm-6.1.0")),
        (
            {"/opt/rocm-6.10.0/.info/version": "6.10.0\n", "/opt/rocm-6.9.0/.info/version": "6.9.0"},
            {},
            ("6.10.0", "/opt/rocm-6.10.0"),
        ),
        ({"/opt/rocm/core-7.9/.info/version": "7.9.0\n"}, {}, ("7.9.0", "/opt/rocm/core-7.9")),
        (
            {"/opt/rocm/.info/version": "6.3.4\n", "/sw/rocm/.info/version": "6.0.2-115\n"},
            {"ROCM_PATH": "/sw/rocm/"},
            ("6.0.2", "/sw/rocm"),
        ),
        ({"/opt/rocm-5.7.1/bin/rocminfo": ""}, {}, ("5.7.1", "/opt/rocm-5.7.1")),
        (
            {"/opt/rocm/bin/rocminfo": ""},
            {},
            (Unknown("/opt/rocm/.info/version is missing"), "/opt/rocm"),
        ),
        ({}, {"ROCM_PATH": "/gone"}, (None, None)),
    ],
)
def test_release(files: dict[str, str], env: dict[str, str], expected: object) -> None:
    assert release(RecordedMachine({**files}, env=env)) == expected


def test_the_distributions_own_rocm() -> None:
    found, folder = release(RecordedMachine({"/usr/bin/rocminfo": ""}))
    assert isinstance(found, Unknown)
    assert folder == "/usr"


@pytest.mark.parametrize(
    ("ids", "ended", "expected"),
    [
        ((1000, 1000, (1000,)), ChildResult(argv=(), code=1), None),  # the user itself: what opening says is the answer
        ((0, 0, (0,)), ChildResult(argv=(), code=0), True),
        ((0, 0, (0,)), ChildResult(argv=(), code=1), False),
        ((0, 0, (0,)), ChildResult(argv=(), code=1, err="setpriv: setresuid failed"), "setresuid failed"),
        ((0, 0, (0,)), ChildResult(argv=(), missing="command not found"), "command not found"),
    ],
)
def test_who_called_sudo(
    ids: tuple[int, int, tuple[int, ...]], ended: ChildResult, expected: bool | str | None
) -> None:
    machine = RecordedMachine(
        SYS,
        links=DRM,
        statuses=NODES,
        ids=ids,
        env={"SUDO_UID": "1000", "SUDO_GID": "1000"},
        commands={"setpriv": ended},
    )
    found = probe(machine, UBUNTU, [CARD]).opens_for_caller
    assert (str(expected) in found.unknown) if isinstance(found, Unknown) else found == expected


def test_root_alone_has_no_caller() -> None:
    for env in ({}, {"SUDO_UID": "0", "SUDO_GID": "0"}, {"SUDO_UID": "$(id)", "SUDO_GID": "1"}):
        machine = RecordedMachine(SYS, links=DRM, statuses=NODES, ids=(0, 0, (0,)), env=env)
        assert probe(machine, UBUNTU, [CARD]).opens_for_caller is None
        assert not any(line.startswith("setpriv") for line in machine.ran)


def test_rocms_way_through_windows() -> None:
    dxg = Status(0o666, 0, 0, 0, 10, 63, False)
    assert probe(RecordedMachine(SYS, links=DRM), UBUNTU, [CARD]).rocdxg is None
    assert probe(RecordedMachine(statuses={"/dev/dxg": dxg}), UBUNTU, []).rocdxg is False
    there = RecordedMachine({"/opt/rocm/lib/librocdxg.so": ""}, statuses={"/dev/dxg": dxg})
    assert probe(there, UBUNTU, []).rocdxg is True


@pytest.mark.parametrize(
    ("files", "variable", "place"),
    [
        ({}, "", None),  # it is not there
        ({IN_ROCM: ""}, "", "/opt/rocm/lib"),
        ({IN_ROCM: ""}, "/usr/lib/wsl/lib:/opt/rocm/lib", None),
        ({IN_ROCM: "", "/etc/ld.so.cache": cache(("librocdxg.so", IN_ROCM))}, "", None),
        ({IN_ROCM: "", "/etc/ld.so.cache": cache(("libz.so.1", "/lib/libz.so.1"))}, "", "/opt/rocm/lib"),
        ({IN_ROCM: "", "/usr/lib/x86_64-linux-gnu/librocdxg.so": ""}, "", None),
        ({IN_ROCM: "", "/etc/ld.so.cache": "torn"}, "", Unknown("/etc/ld.so.cache: not a cache of the dynamic loader")),
    ],
)
def test_where_the_loader_looks_for_it(files: dict[str, str | bytes], variable: str, place: object) -> None:
    dxg = {"/dev/dxg": Status(0o666, 0, 0, 0, 10, 63, False)}
    machine = RecordedMachine(files, statuses=dxg, env={"LD_LIBRARY_PATH": variable} if variable else {})
    assert probe(machine, UBUNTU, []).rocdxg_off_path == place


def test_without_windows_nobody_looks_for_it() -> None:
    assert probe(RecordedMachine({IN_ROCM: ""}), UBUNTU, []).rocdxg_off_path is None


def test_nodes_that_a_group_of_devices_hides() -> None:
    card = msgspec.structs.replace(CARD, driver="amdgpu")
    topology = "/sys/class/kfd/kfd/topology/nodes"
    files = {
        **SYS,
        "/sys/bus/pci/devices/0000:03:00.0/current_compute_partition": "CPX",
        f"{topology}/0/properties": "simd_count 0",
        f"{topology}/1/properties": "simd_count 80",
        f"{topology}/2/properties": "simd_count 80",
    }
    closed = {f"{topology}/2/properties": "EPERM"}
    assert probe(RecordedMachine(files, links=DRM, errors=closed), UBUNTU, [card]).closed_nodes == 1
    whole = files | {"/sys/bus/pci/devices/0000:03:00.0/current_compute_partition": "SPX"}
    assert isinstance(probe(RecordedMachine(whole, links=DRM, errors=closed), UBUNTU, [card]).closed_nodes, Unknown)


@pytest.mark.parametrize(
    ("files", "gtt", "limit"),
    [
        ({"/sys/module/amdgpu/parameters/gttsize": "-1\n"}, None, None),
        ({"/sys/module/amdgpu/parameters/gttsize": "131072\n"}, 128 << 30, None),
        ({}, Unknown("/sys/module/amdgpu/parameters/gttsize cannot be read"), None),
        (
            {"/sys/module/amdgpu/parameters/gttsize": "-1", "/sys/module/ttm/parameters/pages_limit": "16374474\n"},
            None,
            67069845504,
        ),
        (
            {
                "/sys/module/amdgpu/parameters/gttsize": "-1",
                "/sys/module/ttm/parameters/pages_limit": "1",
                "/sys/module/amdttm/parameters/pages_limit": "2",
            },
            None,
            8192,
        ),
        (
            {"/sys/module/amdgpu/parameters/gttsize": "-1", "/sys/module/ttm/refcnt": "1"},
            None,
            Unknown("/sys/module/ttm/parameters/pages_limit cannot be read"),
        ),
    ],
)
def test_memory_of_the_system_for_the_gpu(files: dict[str, str], gtt: object, limit: object) -> None:
    found = probe(RecordedMachine(SYS | files), UBUNTU, [CARD])
    assert (found.gtt_size, found.ttm_limit) == (gtt, limit)


@pytest.mark.parametrize(
    ("files", "line", "asked"),
    [
        ({}, "quiet", ()),
        ({}, "amdttm.pages_limit=32768000 amdttm.page_pool_size=1", (("amdttm", 32768000 * 4096),)),
        ({"/etc/modprobe.d/ttm.conf": "options ttm pages_limit=2 page_pool_size=2\n"}, "", (("ttm", 8192),)),
        ({"/etc/modprobe.d/ttm.conf": "options ttm pages_limit=2\n"}, "ttm.pages_limit=3", (("ttm", 12288),)),
        ({}, "ttm.pages_limit=many", ()),
    ],
)
def test_the_limit_that_was_asked_for(files: dict[str, str], line: str, asked: object) -> None:
    host = msgspec.structs.replace(UBUNTU, kernel=Kernel(command_line=line))
    assert probe(RecordedMachine(SYS | files), host, [CARD]).ttm_asked == asked


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {"/opt/rocm-6.3.4/.info/version": "6.3.4-104\n", "/opt/rocm-7.0.2/.info/version": "7.0.2\n"},
            (("/opt/rocm-6.3.4", "6.3.4"), ("/opt/rocm-7.0.2", "7.0.2")),
        ),
        ({"/opt/rocm-6.3.4/bin/rocminfo": ""}, (("/opt/rocm-6.3.4", "6.3.4"),)),
        ({"/usr/bin/rocminfo": ""}, (("/usr", ""),)),
        ({}, ()),
    ],
)
def test_every_release_the_chosen_one_first(files: dict[str, str], expected: object) -> None:
    links = {"/opt/rocm": "rocm-6.3.4"} if "/opt/rocm-6.3.4/.info/version" in files else {}
    assert releases(RecordedMachine(files, links=links)) == expected
