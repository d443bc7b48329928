"""How the machine runs: since when, on which processors, with which rights, and what hangs on its cables."""

import re

from gpudoctor.facts.host import IgnoredPreload, Thunderbolt
from gpudoctor.knowledge import cpu_features
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers.cpu_list import processors
from gpudoctor.parsers.numbers import hexadecimal, seconds, whole
from gpudoctor.parsers.proc_fields import field

BUS = "/sys/bus/thunderbolt/devices"
_ONE_CPU = 8192  # bytes of /proc/cpuinfo; one CPU's part has some two thousand
_IPC_LOCK = 14  # include/uapi/linux/capability.h: CAP_IPC_LOCK
# "# R36 (release), REVISION: 4.3, GCID: ..." in /etc/nv_tegra_release of Jetson Linux.
_L4T = pattern(r"# R(\d+) \(release\), REVISION: (\d[\d.]*)")


def uptime(machine: Machine, *, container: str | None) -> Maybe[float]:
    """Return the seconds since the machine started; LXC shows its own container's."""
    if container == "lxc":
        return Unknown("LXC shows the uptime of the container, not of the machine")
    first = (machine.line("/proc/uptime") or "").partition(" ")[0]
    found = seconds(first)
    return Unknown("/proc/uptime cannot be read") if found is None else found


def mains(machine: Machine) -> Maybe[bool | None]:
    """Return whether a charger supplies power; None where the kernel shows no power supply (desktops, servers).

    Documentation/ABI/testing/sysfs-class-power: "Mains" is a charger of its own plug, "USB" one on USB-C.
    """
    folder = "/sys/class/power_supply"
    chargers = [
        f"{folder}/{name}/online"
        for name in machine.names(folder)
        if (machine.line(f"{folder}/{name}/type") or "").startswith(("Mains", "USB"))
    ]
    states = {machine.line(path) for path in chargers} - {None}
    if "1" in states or "2" in states:  # 2: online, and its output can be set
        return True
    return False if states else None if not machine.names(folder) else Unknown(f"{folder} shows no charger")


def power_profile(machine: Machine) -> str | None:
    """Return the profile of the firmware (Documentation/ABI/testing/sysfs-platform_profile); None: it has none."""
    return machine.line("/sys/firmware/acpi/platform_profile") or None


def cpu_list(machine: Machine) -> Maybe[str]:
    """Return the processors on which this process may run."""
    said = _status(machine, "Cpus_allowed_list")
    if isinstance(said, Unknown) or processors(said):
        return said
    return Unknown(f"/proc/self/status contains {said[:40]!r}")


def may_lock(machine: Machine) -> Maybe[bool]:
    """Return whether the limit of locked memory does not bind this process."""
    said = _status(machine, "CapEff")
    if isinstance(said, Unknown):
        return said
    held = hexadecimal(said)
    return Unknown("/proc/self/status has no CapEff that can be read") if held is None else bool(held >> _IPC_LOCK & 1)


def seccomp(machine: Machine) -> Maybe[bool]:
    """Return whether a seccomp filter holds for this process (proc_pid_status(5): 0 off, 1 strict, 2 filter)."""
    said = _status(machine, "Seccomp")
    return said if isinstance(said, Unknown) else said != "0"


def _status(machine: Machine, name: str) -> Maybe[str]:
    return field(machine.line("/proc/self/status") or "", name) or Unknown(f"/proc/self/status has no {name}")


def address_space(machine: Machine) -> Maybe[int | None]:
    """Return how much a process may map, in bytes; None where there is no limit."""
    found = re.search(r"^Max address space\s+(\S+)", machine.line("/proc/self/limits") or "", re.M)
    if found is None:
        return Unknown("/proc/self/limits names no limit of the address space")
    if found[1] == "unlimited":
        return None
    limit = whole(found[1])
    return Unknown(f"/proc/self/limits contains {found[1][:40]!r}") if limit is None else limit


def numa_balancing(machine: Machine) -> Maybe[bool | None]:
    """Return whether the kernel moves pages between nodes by itself; None where it cannot."""
    text = machine.line("/proc/sys/kernel/numa_balancing")
    if text is None:
        there = machine.exists("/proc/sys/kernel/ostype")
        return None if there else Unknown("/proc/sys/kernel cannot be read")
    mode = whole(text)  # 2: memory tiering too (Documentation/admin-guide/sysctl/kernel.rst)
    return Unknown(f"/proc/sys/kernel/numa_balancing contains {text[:40]!r}") if mode is None else mode != 0


def cpu_flags(machine: Machine) -> Maybe[tuple[str, ...] | None]:
    """Return the instruction sets of the first CPU that packages may need; None where it is no x86-64.

    A virtual CPU has those of its type, which may be fewer than the host's.
    """
    if machine.architecture() not in ("x86_64", "AMD64"):
        return None
    try:
        with machine.open("/proc/cpuinfo") as file:
            head = file.read(_ONE_CPU).decode("ascii", "replace")
    except OSError as error:
        return Unknown(f"/proc/cpuinfo: {error.strerror}")
    found = field(head.rpartition("\n")[0], "flags")  # without a line that is cut
    if found is None:
        return Unknown("/proc/cpuinfo lists no flags")
    flags = set(found.split())
    if "sse2" not in flags:  # every x86-64 CPU has it (System V ABI, x86-64 baseline): a sandbox has written the file
        return Unknown("/proc/cpuinfo does not list what every x86-64 CPU has")
    return tuple(sorted(cpu_features.known() & flags))


def rdma(machine: Machine) -> bool:
    """Return whether programs can reach a network adapter with RDMA from here."""
    return any(name.startswith("uverbs") for name in machine.names("/dev/infiniband"))


def l4t(machine: Machine) -> Maybe[str | None]:
    """Return the release of Jetson Linux; None off Jetsons."""
    path = "/etc/nv_tegra_release"
    if not machine.exists(path):
        return None
    found = _L4T.search(machine.line(path) or "")
    return f"{found[1]}.{found[2]}" if found else Unknown(f"{path} names no release")


def ignored_preloads(machine: Machine) -> Maybe[tuple[IgnoredPreload, ...]]:
    """Return the entries of /etc/ld.so.preload (ld.so(8)) that are no libraries: each program starts without them."""
    path = "/etc/ld.so.preload"
    try:
        text = machine.text(path)
    except FileNotFoundError:
        return ()
    except OSError as error:
        return Unknown(f"{path}: {error.strerror}")
    entries = re.split(r"[\s:]+", re.sub(r"#.*", "", text).strip())
    found = ((entry, _not_loadable(machine, entry)) for entry in entries if entry.startswith("/"))
    return tuple(IgnoredPreload(path=entry, reason=reason) for entry, reason in found if reason)


def _not_loadable(machine: Machine, path: str) -> str | None:
    found = machine.status(path)
    if found and found.is_dir:
        return "Is a directory"
    try:
        with machine.open(path) as file:
            return None if file.read(4) == b"\x7fELF" else "not an ELF file"
    except FileNotFoundError as error:
        return error.strerror
    except OSError:  # not for this user to read: nothing is known of it
        return None


def thunderbolt(machine: Machine) -> tuple[Thunderbolt, ...]:
    """Return the devices on Thunderbolt and USB4 besides the host's own controllers ("0-0")."""
    places = [name for name in machine.names(BUS) if re.fullmatch(r"\d+-[1-9a-f][0-9a-f]*", name)]
    return tuple(_device(machine, place) for place in places if machine.exists(f"{BUS}/{place}/authorized"))


def _device(machine: Machine, place: str) -> Thunderbolt:
    said = machine.line(f"{BUS}/{place}/authorized") or ""
    return Thunderbolt(
        place=place,
        name=machine.line(f"{BUS}/{place}/device_name") or "",
        vendor=machine.line(f"{BUS}/{place}/vendor_name") or "",
        # 0: no PCIe tunnel; 1: authorised; 2: authorised by a key (Documentation/ABI/testing/sysfs-bus-thunderbolt).
        authorized=said != "0" if said.isdigit() else Unknown(f"{BUS}/{place}/authorized contains {said[:40]!r}"),
    )
