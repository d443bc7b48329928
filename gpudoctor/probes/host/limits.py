"""How much of the machine this process may use: memory, processors, shared memory."""

from collections.abc import Iterator

from gpudoctor.facts.host import Shm
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers.cpu_list import processors
from gpudoctor.parsers.numbers import whole
from gpudoctor.parsers.proc_fields import field

ROOT = "/sys/fs/cgroup"


def memory(machine: Machine) -> tuple[Maybe[int], Maybe[int]]:
    """Return the machine's memory and what is available of it, in bytes."""
    try:
        text = machine.text("/proc/meminfo")
    except OSError as error:
        why = Unknown(f"/proc/meminfo: {error.strerror}")
        return why, why
    return _meminfo(text, "MemTotal"), _meminfo(text, "MemAvailable")


def _meminfo(text: str, name: str) -> Maybe[int]:
    number, _, unit = (field(text, name) or "").partition(" ")
    found = whole(number) if unit == "kB" else None
    return Unknown(f"/proc/meminfo has no {name}") if found is None else found * 1024


class Cgroups:
    """The control groups around this process, of version 1 or 2.

    In a group namespace the process sees its group as "/"; without one it sees the path on the host, which
    does not exist in a container. So every folder from the named path up to the root counts, where it exists.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._own = (machine.line("/proc/self/cgroup") or "").splitlines()

    def version(self) -> Maybe[int | None]:
        """Return 1 or 2; None where no control groups are mounted."""
        if self._machine.exists(f"{ROOT}/cgroup.controllers"):
            return 2
        if self._machine.exists(f"{ROOT}/memory") or self._machine.exists(f"{ROOT}/cpu"):
            return 1
        return None if self._machine.exists("/proc/self/cgroup") else Unknown("/proc/self/cgroup cannot be read")

    def memory_limit(self, total: Maybe[int]) -> Maybe[int | None]:
        """Return the smallest limit in bytes; None: no limit below the machine's own memory."""
        version = self.version()
        if version == 2:
            values = list(self._values("", "memory.max"))
        elif version == 1:
            values = list(self._values("memory", "memory.limit_in_bytes"))
        else:
            return version
        limits = [whole(value) for value in values if value != "max"]
        if None in limits:
            return Unknown("a cgroup's memory limit cannot be read")
        # Version 1 writes "no limit" as the largest multiple of the page size.
        most = total if isinstance(total, int) else 1 << 60
        return min((limit for limit in limits if limit is not None and limit < most), default=None)

    def memory_kills(self) -> Maybe[int | None]:
        """Return how many processes the OOM killer ended because a group's own limit was reached; None: no limit.

        Version 2 counts in memory.events, for a group and those below it; `oom` counts the allocations that failed
        at a limit, so that kills for the whole machine's want of memory do not count (Documentation/admin-guide/
        cgroup-v2.rst). Version 1 has oom_kill in memory.oom_control from kernel 4.13 on, and memory.failcnt.
        """
        version = self.version()
        if version == 2:
            files = ("", "memory.max", "memory.events", "oom")
        elif version == 1:
            files = ("memory", "memory.limit_in_bytes", "memory.oom_control", "")
        else:
            return version
        controller, limit_file, events_file, reached_name = files
        found: Maybe[int | None] = None
        for folder in self._folders(controller):
            limit = whole(self._machine.line(f"{folder}/{limit_file}") or "max")
            if limit is None or limit >= 1 << 60:
                continue
            events = dict(
                line.split(" ", 1)
                for line in (self._machine.line(f"{folder}/{events_file}") or "").splitlines()
                if " " in line
            )
            kills = whole(events.get("oom_kill", ""))
            reached = whole(
                events.get(reached_name, "") if reached_name else self._machine.line(f"{folder}/memory.failcnt") or ""
            )
            if kills is None or reached is None:
                found = found or Unknown(f"{folder}/{events_file} has no oom_kill")
            else:
                found = max(kills if reached else 0, found if isinstance(found, int) else 0)
        return found

    def cpu_quota(self) -> Maybe[float | None]:
        """Return how many processors' time the groups grant; None: no quota."""
        if self.version() == 2:
            pairs = [(*value.split(), "", "")[:2] for value in self._values("", "cpu.max")]
        else:
            quotas = self._values("cpu", "cpu.cfs_quota_us")
            pairs = list(zip(quotas, self._values("cpu", "cpu.cfs_period_us"), strict=False))
        shares = []
        for granted, period in (pair for pair in pairs if pair[0] not in ("max", "-1")):
            times = whole(granted), whole(period)
            if not times[0] or not times[1]:
                return Unknown("a cgroup's CPU quota cannot be read")
            shares.append(times[0] / times[1])
        return min(shares, default=None)

    def _values(self, controller: str, name: str) -> Iterator[str]:
        for folder in self._folders(controller):
            value = self._machine.line(f"{folder}/{name}")
            if value is not None:
                yield value

    def _folders(self, controller: str) -> Iterator[str]:
        """Every folder from this process's group up to the root, whether or not it exists here."""
        root = f"{ROOT}/{controller}".rstrip("/")
        path = self._path(controller)
        while True:
            yield f"{root}{path}"
            if not path:
                return
            path = path.rpartition("/")[0]

    def _path(self, controller: str) -> str:
        """The group of this process; outside its namespace ("/..") it is the root."""
        for line in self._own:
            _, controllers, path = [*line.split(":", 2), "", ""][:3]
            if controller in controllers.split(",") and "/.." not in path:
                return path.rstrip("/")
        return ""


def cpus(machine: Machine, groups: Cgroups) -> Maybe[float]:
    """Return the processors that this process may use: its affinity and the groups' quota together."""
    count = len(processors(field(machine.line("/proc/self/status") or "", "Cpus_allowed_list") or ""))
    if not count:
        return Unknown("/proc/self/status has no Cpus_allowed_list that can be read")
    quota = groups.cpu_quota()
    return quota if isinstance(quota, Unknown) else float(count) if quota is None else min(float(count), quota)


def shm(machine: Machine) -> Shm:
    """Return what stat(2) and statvfs(2) say of /dev/shm."""
    status = machine.status("/dev/shm")
    if status is None:
        return Shm(size=None, free=None, mode=None, writable=None)
    space = machine.space("/dev/shm")
    why = Unknown("statvfs(2) on /dev/shm failed")
    return Shm(
        size=space.size if space else why,
        free=space.free if space else why,
        mode=f"{status.mode:o}",
        writable=machine.may_write("/dev/shm"),
    )
