"""Reads what amdgpu and the kernel's compute driver show in sysfs while AMD's GPUs are sampled; loaded by sampler.py.

https://docs.kernel.org/gpu/amdgpu/thermal.html and driver-misc.html name the files and their units;
/sys/class/kfd/kfd/proc/PID/vram_ID is Documentation/ABI of the kernel's compute driver (kfd_process.c).
"""

from __future__ import annotations

import json
import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from gpudoctor.workers.sampler import ProcessTable

WIDEST = 32  # lanes; a link that does not respond reads as all bits set
# Reading pcie_bw makes the driver count for a second (amdgpu_get_pcie_bw), in which it shows nothing else.
NO_TRAFFIC = {"unknown": "amdgpu would have to count for a whole second to measure it"}
FULL = 255  # pwm1 of a fan at full speed (Documentation/hwmon/sysfs-interface.rst)
NOBODY = {"unknown": "the kernel's compute driver does not show here who computes"}


class SampledAmdGpu:
    """One GPU by its directory of sysfs.

    Args:
        name: in the lines.
        folder: under /sys/bus/pci/devices.
        link: the directory of the function that faces the slot.
        kfd: the number that the kernel's compute driver gave it; None: unknown.
        users: /sys/class/kfd/kfd/proc, with a directory for each process that uses that driver.
        generations: GT/s as the kernel writes them, and the PCIe generation.
        processes: describes processes.
    """

    def __init__(
        self,
        name: str,
        folder: str,
        link: str,
        kfd: int | None,
        users: str,
        generations: dict[str, int],
        processes: ProcessTable,
    ) -> None:
        self.name = name
        self._folder, self._link, self._kfd = folder, link, kfd
        self._users, self._generations, self._processes = users, generations, processes
        names = _names(folder + "/hwmon")
        self._hwmon = "hwmon/%s" % (names[0] if names else "hwmon0")

    def sample(self) -> dict[str, Any]:
        """What changes all the time; nothing is read of a GPU that sleeps, for that would wake it."""
        if self._asleep():
            return dict.fromkeys(SAMPLE, ASLEEP)
        generation, width = self._link_now()
        return {
            "sm_clock": self._first(1e-6, self._hwmon + "/freq1_input"),
            "memory_clock": self._memory_clock(),
            "event_reasons": {"unknown": "amdgpu does not report in sysfs what limits the clocks"},
            "temperature": self._first(1e-3, self._hwmon + "/temp1_input", self._hwmon + "/temp2_input"),
            "power": self._first(1e-6, self._hwmon + "/power1_average", self._hwmon + "/power1_input"),
            "utilization": self._first(1, "gpu_busy_percent"),
            "link_generation": generation,
            "link_width": width,
        }

    def full_sample(self) -> dict[str, Any]:
        """The same and more."""
        reported = self.sample()
        if self._asleep():
            return dict(reported, memory_used=ASLEEP, fan=ASLEEP, pcie_rx=None, pcie_tx=None)
        fan = self._first(100.0 / FULL, self._hwmon + "/pwm1")
        return dict(
            reported,
            memory_used=self._first(1, "mem_info_vram_used"),
            fan=None if isinstance(fan, dict) else round(fan),  # most cards for servers have none
            performance_state=None,
            pcie_rx=NO_TRAFFIC,
            pcie_tx=NO_TRAFFIC,
        )

    def usage(self) -> dict[str, Any]:
        """What tells whether it computes."""
        if self._asleep():
            return {"utilization": ASLEEP, "memory_used": ASLEEP}
        return {
            "utilization": self._first(1, "gpu_busy_percent"),
            "memory_used": self._first(1, "mem_info_vram_used"),
        }

    def device(self) -> dict[str, Any]:
        """What hardly changes and the parent has not read itself."""
        return {} if self._asleep() else {"pcie_replays": self._first(1, "pcie_replay_count")}

    def processes(self) -> Any:
        """Who has a queue on this GPU."""
        if self._kfd is None:
            return NOBODY
        return [self._processes.described(pid, "C", self._memory(pid)) for pid in sorted(set(self._pids()))]

    def _memory(self, pid: int) -> Any:
        path = "%s/%d/vram_%s" % (self._users, pid, self._kfd)
        text = _text(path)
        return int(text) if text is not None and text.isdigit() else {"unknown": path + " cannot be read"}

    def counters(self) -> dict[str, Any]:
        """What only grows, and who else computes there."""
        if self._asleep():
            return dict(dict.fromkeys(COUNTERS, ASLEEP), others=self._others(), **NO_NVLINK)
        return {
            "ecc_corrected": self._errors("ce"),
            "ecc_uncorrected": self._errors("ue"),
            "pcie_replays": self._first(1, "pcie_replay_count"),
            "others": self._others(),
            **NO_NVLINK,
        }

    def _asleep(self) -> bool:
        """Whether the kernel has suspended it."""
        return _text(self._folder + "/power/runtime_status") == "suspended"

    def _first(self, factor: float, *names: str) -> Any:
        """The first of some files that holds a number, times a factor."""
        for name in names:
            text = _text("%s/%s" % (self._folder, name))
            if text is not None and re.fullmatch(r"-?\d+", text):
                return int(text) if factor == 1 else int(text) * factor
        return {"unknown": "amdgpu reports no %s for this GPU" % names[0]}

    def _memory_clock(self) -> Any:
        """MHz, by the sensor that GPUs with memory of their own have, else by the level in use ("1: 1000Mhz *")."""
        value = self._first(1e-6, self._hwmon + "/freq2_input")
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

    def _others(self) -> Any:
        """How many processes that are not ours have a queue on this GPU."""
        if self._kfd is None or not os.path.isdir(self._users):
            return NOBODY
        return self._processes.others(self._pids())

    def _pids(self) -> Iterator[int]:
        """The processes that have a queue on this GPU."""
        for pid in _names(self._users):
            queues = "%s/%s/queues" % (self._users, pid)
            ids = (_text("%s/%s/gpuid" % (queues, queue)) for queue in _names(queues))
            if pid.isdigit() and str(self._kfd) in ids:
                yield int(pid)


SAMPLE = (
    "sm_clock", "memory_clock", "event_reasons", "temperature", "power", "utilization", "link_generation", "link_width",
)  # fmt: skip
NO_NVLINK = dict.fromkeys(("nvlink_replays", "nvlink_recoveries", "nvlink_crc"))
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


def gpus(task: str, say: Callable[..., None], processes: ProcessTable) -> list[Any]:
    """Return the GPUs that a task names; one whose directory is not shown here is reported and left out.

    Args:
        task: in JSON the arguments of `SampledAmdGpu`: "gpus" with what each has of its own, the rest common to all.
        say: writes a line.
        processes: describes processes.
    """
    reported = json.loads(task)
    found = []
    for gpu in reported.pop("gpus"):
        if os.path.isdir(gpu["folder"]):
            found.append(SampledAmdGpu(processes=processes, **gpu, **reported))
        else:
            say(gpu=gpu["name"], refused={"unknown": gpu["folder"] + " is not shown here"})
    return found
