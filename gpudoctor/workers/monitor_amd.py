"""Reads what amdgpu and the kernel's compute driver show in sysfs for somebody who looks on; loaded by monitor.py.

https://docs.kernel.org/gpu/amdgpu/driver-misc.html and thermal.html name the files and their units;
/sys/class/kfd/kfd/proc/PID/vram_ID is Documentation/ABI of the kernel's compute driver (kfd_process.c).
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Reading pcie_bw makes the driver count for a second (amdgpu_get_pcie_bw), in which it tells nothing else.
NO_TRAFFIC = {"unknown": "amdgpu needs a whole second to measure it"}
FULL = 255  # pwm1 of a fan at full speed (Documentation/hwmon/sysfs-interface.rst)


class MonitoredAmdGpu:
    """One GPU by its directory of sysfs.

    Args:
        watched: the same GPU as watch_amd.py knows it.
        process: tells of a process (monitor.py).
        kfd: the number that the kernel's compute driver gave it; None: unknown.
        processes: /sys/class/kfd/kfd/proc.
    """

    def __init__(self, watched: Any, process: Callable[..., Any], kfd: int | None, processes: str) -> None:
        self.name = watched.name
        self._watched, self._process = watched, process
        self._kfd, self._proc = kfd, processes

    def sample(self) -> dict[str, Any]:
        """What changes all the time; nothing is read of a GPU that sleeps."""
        told: dict[str, Any] = self._watched.sample()
        if self._watched.asleep():
            return dict(told, memory_used=told["power"], fan=told["power"], pcie_rx=None, pcie_tx=None)
        fan = self._watched.first(100.0 / FULL, self._watched.hwmon + "/pwm1")
        return dict(
            told,
            memory_used=self._watched.first(1, "mem_info_vram_used"),
            fan=None if isinstance(fan, dict) else round(fan),  # most cards for servers have none
            performance_state=None,
            pcie_rx=NO_TRAFFIC,
            pcie_tx=NO_TRAFFIC,
        )

    def device(self) -> dict[str, Any]:
        """What hardly changes and the parent has not read itself."""
        if self._watched.asleep():
            return {}
        return {"pcie_replays": self._watched.first(1, "pcie_replay_count")}

    def processes(self) -> Any:
        """Who has a queue on this GPU."""
        if self._kfd is None:
            return {"unknown": "the kernel's compute driver (KFD) does not list processes here"}
        return [self._process(pid, "C", self._memory(pid)) for pid in sorted(set(self._watched.pids()))]

    def _memory(self, pid: int) -> Any:
        path = "%s/%d/vram_%d" % (self._proc, pid, self._kfd or 0)
        try:
            with open(path, encoding="ascii") as file:
                return int(file.read())
        except (OSError, ValueError):
            return {"unknown": path + " cannot be read"}


def gpus(task: str, say: Callable[..., None], process: Callable[..., Any]) -> list[Any]:
    """Return the GPUs that a task names (watch_amd.gpus); one that is not shown here is told and left out.

    Args:
        task: in JSON.
        say: tells a line.
        process: tells of a process.
    """
    watch = importlib.import_module("watch_amd")

    def make(**told: Any) -> MonitoredAmdGpu:
        return MonitoredAmdGpu(watch.WatchedAmdGpu(**told), process, told["kfd"], told["processes"])

    found: list[Any] = watch.gpus(task, say, make)
    return found
