"""Since when the machine runs, on which processors, with which rights, and what hangs on its cables."""

import pytest

from gpudoctor.facts import Thunderbolt
from gpudoctor.maybe import Unknown
from gpudoctor.probes.host import state
from gpudoctor.recorded_machine import RecordedMachine

STATUS = "Name:\tpython3\nCapEff:\t{caps}\nCpus_allowed_list:\t0-15,32-47\n"
AT = "/sys/bus/thunderbolt/devices"
TEGRA = "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64, DATE: Wed Jan  8 2025\n"


def machine(**files: str) -> RecordedMachine:
    return RecordedMachine({name.replace("__", "/"): text for name, text in files.items()})


def test_uptime() -> None:
    here = RecordedMachine({"/proc/uptime": "35735.42 111.00\n"})
    assert state.uptime(here, container=None) == 35735.42
    assert state.uptime(here, container="docker") == 35735.42
    assert isinstance(state.uptime(here, container="lxc"), Unknown)
    assert state.uptime(RecordedMachine({}), container=None) == Unknown("/proc/uptime cannot be read")


@pytest.mark.parametrize(
    ("caps", "may"), [("000001ffffffffff", True), ("0000000000000000", False), ("00000000a80425fb", False)]
)
def test_the_right_to_lock_memory(caps: str, may: bool) -> None:
    here = RecordedMachine({"/proc/self/status": STATUS.format(caps=caps)})
    assert state.may_lock(here) is may
    assert state.cpu_list(here) == "0-15,32-47"


@pytest.mark.parametrize(("mode", "filtered"), [("0", False), ("2", True)])
def test_seccomp(mode: str, filtered: bool) -> None:
    assert state.seccomp(RecordedMachine({"/proc/self/status": f"Name:\tcat\nSeccomp:\t{mode}\n"})) is filtered


def test_nobody_knows_without_proc() -> None:
    nothing = RecordedMachine({})
    assert state.may_lock(nothing) == Unknown("/proc/self/status has no CapEff")
    assert state.seccomp(nothing) == Unknown("/proc/self/status has no Seccomp")
    assert state.cpu_list(nothing) == Unknown("/proc/self/status has no Cpus_allowed_list")
    assert state.numa_balancing(nothing) == Unknown("/proc/sys/kernel cannot be read")


@pytest.mark.parametrize(("files", "on"), [({"numa_balancing": "1\n"}, True), ({"numa_balancing": "0\n"}, False)])
def test_numa_balancing(files: dict[str, str], on: bool) -> None:
    assert state.numa_balancing(RecordedMachine({f"/proc/sys/kernel/{n}": t for n, t in files.items()})) is on


def test_a_kernel_without_numa() -> None:
    assert state.numa_balancing(RecordedMachine({"/proc/sys/kernel/ostype": "Linux\n"})) is None


def test_rdma() -> None:
    assert state.rdma(RecordedMachine({"/dev/infiniband/uverbs0": ""})) is True
    assert state.rdma(RecordedMachine({"/dev/infiniband/rdma_cm": ""})) is False
    assert state.rdma(RecordedMachine({})) is False


@pytest.mark.parametrize(
    ("files", "release"),
    [
        ({"/etc/nv_tegra_release": TEGRA}, "36.4.3"),
        ({}, None),
        ({"/etc/nv_tegra_release": "?"}, Unknown("/etc/nv_tegra_release names no release")),
    ],
)
def test_l4t(files: dict[str, str], release: object) -> None:
    assert state.l4t(RecordedMachine(files)) == release


def test_thunderbolt() -> None:
    files = {
        f"{AT}/0-0/authorized": "1\n",
        f"{AT}/domain0/security": "user\n",
        f"{AT}/0-1/authorized": "0\n",
        f"{AT}/0-1/device_name": "Core X Chroma\n",
        f"{AT}/0-1/vendor_name": "Razer\n",
        f"{AT}/0-1.1/nvm_version": "1\n",
        f"{AT}/0-3/authorized": "?\n",
        f"{AT}/1-1/authorized": "1\n",
    }
    assert state.thunderbolt(RecordedMachine(files)) == (
        Thunderbolt(place="0-1", name="Core X Chroma", vendor="Razer", authorized=False),
        Thunderbolt(place="0-3", authorized=Unknown(f"{AT}/0-3/authorized contains '?'")),
        Thunderbolt(place="1-1", authorized=True),
    )


LIMITS = "Limit                     Soft Limit           Hard Limit           Units\n"


@pytest.mark.parametrize(
    ("row", "limit"),
    [
        ("Max address space         unlimited            unlimited            bytes\n", None),
        ("Max address space         34359738368          unlimited            bytes\n", 32 << 30),
        ("", Unknown("/proc/self/limits names no limit of the address space")),
    ],
)
def test_the_address_space(row: str, limit: object) -> None:
    assert state.address_space(RecordedMachine({"/proc/self/limits": LIMITS + row})) == limit


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("processor\t: 0\nflags\t\t: fpu sse sse2 pni cx16 lahf_lm\nbogomips\t: 1\n", ("cx16", "lahf_lm", "pni")),
        ("processor\t: 0\nbogomips\t: 1\n", Unknown("/proc/cpuinfo lists no flags")),
        ("flags\t\t: sse2 pni\n" + "bogomips\t: 4000.00\n" * 1000, ("pni",)),  # of many processors, the first is read
        ("x\t: 0\n" * 1364 + "flags\t\t: sse2 pni\n", Unknown("/proc/cpuinfo lists no flags")),  # the line is cut
        ("flags\t\t: fpu hypervisor\n", Unknown("/proc/cpuinfo does not list what every x86-64 CPU has")),
    ],
)
def test_cpu_flags(text: str, flags: object) -> None:
    assert state.cpu_flags(RecordedMachine({"/proc/cpuinfo": text})) == flags


LIBRARY, SHARED = "/usr/local/vgpu/libvgpu.so", "/usr/lib/libhook.so"


@pytest.mark.parametrize(
    ("files", "ignored"),
    [
        ({}, ()),
        ({"/etc/ld.so.preload": f"{SHARED}\n", SHARED: "\x7fELF\x02"}, ()),
        ({"/etc/ld.so.preload": f"# {LIBRARY}\n"}, ()),
        ({"/etc/ld.so.preload": "libsearched.so\n"}, ()),  # the loader searches for it: not followed here
        (
            {"/etc/ld.so.preload": f"{SHARED}:{LIBRARY}\n", SHARED: "\x7fELF\x02", f"{LIBRARY}/.keep": ""},
            ((LIBRARY, "Is a directory"),),
        ),
        ({"/etc/ld.so.preload": LIBRARY}, ((LIBRARY, "No such file or directory"),)),
        ({"/etc/ld.so.preload": f"{LIBRARY} # HAMi", LIBRARY: "#!/bin/sh"}, ((LIBRARY, "not an ELF file"),)),
    ],
)
def test_preloads_that_the_loader_ignores(files: dict[str, str], ignored: tuple[tuple[str, str], ...]) -> None:
    found = state.ignored_preloads(RecordedMachine(files))
    assert not isinstance(found, Unknown)
    assert tuple((one.path, one.reason) for one in found) == ignored


SUPPLY = "/sys/class/power_supply"
ON, OFF = (
    {f"{SUPPLY}/ADP0/type": "Mains", f"{SUPPLY}/ADP0/online": "1"},
    {f"{SUPPLY}/ADP0/type": "Mains", f"{SUPPLY}/ADP0/online": "0"},
)
BATTERY = {f"{SUPPLY}/BAT0/type": "Battery"}
USB_C = {f"{SUPPLY}/ucsi-source-psy-1/type": "USB", f"{SUPPLY}/ucsi-source-psy-1/online": "1"}


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, None),
        (ON | BATTERY, True),
        (OFF | BATTERY, False),
        (OFF | BATTERY | USB_C, True),  # through USB-C
        (BATTERY, Unknown("/sys/class/power_supply shows no charger")),
    ],
)
def test_mains(files: dict[str, str], found: object) -> None:
    assert state.mains(RecordedMachine(files)) == found


def test_the_profile_of_the_firmware() -> None:
    here = RecordedMachine({"/sys/firmware/acpi/platform_profile": "quiet\n"})
    assert (state.power_profile(here), state.power_profile(RecordedMachine({}))) == ("quiet", None)
