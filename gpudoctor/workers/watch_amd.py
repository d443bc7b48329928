"""Reads what amdgpu and the kernel's compute driver show in sysfs while AMD's GPUs are watched; loaded by watch.py.

https://docs.kernel.org/gpu/amdgpu/thermal.html and driver-misc.html name the files and their units.
"""

from __future__ import annotations

import json
import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from gpudoctor.workers.watch import Others

WIDEST = 32  # lanes; a link that does not respond reads as all bits set


class WatchedAmdGpu:
    """One GPU by its directory of sysfs.

    Args:
        name: in the lines.
        folder: under /sys/bus/pci/devices.
        link: the directory of the function that faces the slot.
        kfd: the number that the kernel's compute driver gave it; None: unknown.
        processes: /sys/class/kfd/kfd/proc, with a directory for each process that uses that driver.
        generations: GT/s as the kernel writes them, and the PCIe generation.
    """

    def __init__(
        self, name: str, folder: str, link: str, kfd: int | None, processes: str, generations: dict[str, int]
    ) -> None:
        self.name = name
        self._folder, self._link, self._kfd = folder, link, kfd
        self._processes, self._generations = processes, generations
        names = _names(folder + "/hwmon")
        self.hwmon = "hwmon/%s" % (names[0] if names else "hwmon0")

    def sample(self) -> dict[str, Any]:
        """What changes all the time; nothing is read of a GPU that sleeps, for that would wake it."""
        if self.asleep():
            return dict.fromkeys(SAMPLE, ASLEEP)
        generation, width = self._link_now()
        return {
            "sm_clock": self.first(1e-6, self.hwmon + "/freq1_input"),
            "memory_clock": self._memory_clock(),
            "event_reasons": {"unknown": "amdgpu does not report throttle reasons in sysfs"},
            "temperature": self.first(1e-3, self.hwmon + "/temp1_input", self.hwmon + "/temp2_input"),
            "power": self.first(1e-6, self.hwmon + "/power1_average", self.hwmon + "/power1_input"),
            "utilization": self.first(1, "gpu_busy_percent"),
            "link_generation": generation,
            "link_width": width,
        }

    def counters(self, others: Others) -> dict[str, Any]:
        """What only grows, and who else computes there."""
        if self.asleep():
            return dict(dict.fromkeys(COUNTERS, ASLEEP), others=self._others(others))
        return {
            "ecc_corrected": self._errors("ce"),
            "ecc_uncorrected": self._errors("ue"),
            "pcie_replays": self.first(1, "pcie_replay_count"),
            "others": self._others(others),
        }

    def asleep(self) -> bool:
        """Whether the kernel has suspended it."""
        return _text(self._folder + "/power/runtime_status") == "suspended"

    def first(self, factor: float, *names: str) -> Any:
        """The first of some files that holds a number, times a factor."""
        for name in names:
            text = _text("%s/%s" % (self._folder, name))
            if text is not None and re.fullmatch(r"-?\d+", text):
                return int(text) if factor == 1 else int(text) * factor
        return {"unknown": "amdgpu reports no %s for this GPU" % names[0]}

    def _memory_clock(self) -> Any:
        """MHz, by the sensor that GPUs with memory of their own have, else by the level in use ("1: 1000Mhz *")."""
        value = self.first(1e-6, self.hwmon + "/freq2_input")
        level = re.search(r"^\w+: (\d+)Mhz \*", _text(self._folder + "/pp_dpm_mclk") or "", re.M)
        return int(level.group(1)) if isinstance(value, dict) and level else value

    def _link_now(self) -> tuple[Any, Any]:
        speed, width = (_text("%s/current_link_%s" % (self._link, name)) for name in ("speed", "width"))
        if speed is None or width is None or width == "0":  # integrated into the CPU: no link
            why = {"unknown": self._link + "/current_link_speed cannot be read"}
            return (why, why) if os.path.exists(self._link + "/current_link_speed") and width != "0" else (None, None)
        generation = self._generations.get(speed.split(" ")[0])
        lanes = int(width) if width.isdigit() else WIDEST + 1
        return (
            {"unknown": "current_link_speed is " + speed} if generation is None else generation,
            {"unknown": "current_link_width is " + width} if lanes > WIDEST else lanes,
        )

    def _errors(self, kind: str) -> Any:
        """The errors of all blocks since the driver was loaded, "ce" or "ue"; null without RAS, as most cards are."""
        blocks = [name for name in _names(self._folder + "/ras") if name.endswith("_err_count")]
        texts = [_text("%s/ras/%s" % (self._folder, block)) for block in blocks]
        if None in texts:
            return {"unknown": "%s/ras cannot be read" % self._folder}
        counts = (re.findall(r"^%s: (\d+)" % kind, text or "", re.M) for text in texts)
        return sum(int(number) for found in counts for number in found) if blocks else None

    def _others(self, others: Others) -> Any:
        """How many processes that are not ours have a queue on this GPU."""
        if self._kfd is None or not os.path.isdir(self._processes):
            return {"unknown": "the kernel's compute driver (KFD) does not list processes here"}
        return others.count(pid for pid in self.pids())

    def pids(self) -> Iterator[int]:
        """The processes that have a queue on this GPU."""
        for pid in _names(self._processes):
            queues = "%s/%s/queues" % (self._processes, pid)
            ids = (_text("%s/%s/gpuid" % (queues, queue)) for queue in _names(queues))
            if pid.isdigit() and str(self._kfd) in ids:
                yield int(pid)


SAMPLE = (
    "sm_clock", "memory_clock", "event_reasons", "temperature", "power", "utilization", "link_generation", "link_width",
)  # fmt: skip
COUNTERS = ("ecc_corrected", "ecc_uncorrected", "pcie_replays")
ASLEEP = {"unknown": "not read: the GPU is suspended, and reading would wake it"}


def _text(path: str) -> str | None:
    """The content of a small file; None where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(1 << 16).strip()
    except OSError:  # EBUSY and EPERM while the GPU resets or sleeps
        return None


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def gpus(task: str, say: Callable[..., None], make: Callable[..., Any] = WatchedAmdGpu) -> list[Any]:
    """Return the GPUs that a task names; one whose directory is not shown here is told and left out.

    Args:
        task: in JSON the arguments of `Gpu`: "gpus" with what each has of its own, the rest common to all.
        say: tells a line.
        make: makes a GPU of the arguments of `Gpu`.
    """
    told = json.loads(task)
    found = []
    for gpu in told.pop("gpus"):
        if os.path.isdir(gpu["folder"]):
            found.append(make(**gpu, **told))
        else:
            say(gpu=gpu["name"], refused={"unknown": gpu["folder"] + " is not shown here"})
    return found
