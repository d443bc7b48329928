"""Asks NVML about NVIDIA's GPUs for somebody who looks on; loaded by monitor.py next to it."""

from __future__ import annotations

import functools
import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gpudoctor.workers.nvml import NvmlLibrary

KILOBYTE = 1000  # NVML tells PCIe traffic in KB/s


class MonitoredNvidiaGpu:
    """One GPU by its handle; its name in the lines is "GPU 0", with NVML's index.

    Args:
        watched: the same GPU as watch_nvidia.py knows it.
        process: tells of a process (monitor.py).
        ours: the module nvml.py.
        nv: the initialized library.
        handle: what NVML gave for it.
    """

    def __init__(self, watched: Any, process: Callable[..., Any], ours: Any, nv: NvmlLibrary, handle: Any) -> None:
        self.name = watched.name
        self._watched, self._process = watched, process
        self._ours, self._nv, self._handle = ours, nv, handle

    def sample(self) -> dict[str, Any]:
        """What changes all the time; each of the two questions for traffic takes NVML 20 ms."""
        nv, py, handle = self._nv, self._nv.py, self._handle
        told: dict[str, Any] = self._watched.sample()
        return dict(
            told,
            memory_used=self._ours.spread(("memory", "memory_used"), self._ours.memory(nv, handle))["memory_used"],
            performance_state=self._ours.performance(nv, handle),
            fan=nv.ask(lambda: py.nvmlDeviceGetFanSpeed(handle)),
            pcie_rx=self._traffic(py.NVML_PCIE_UTIL_RX_BYTES),
            pcie_tx=self._traffic(py.NVML_PCIE_UTIL_TX_BYTES),
        )

    def _traffic(self, counter: int) -> Any:
        """Bytes a second, as the GPU sees them, over the last 20 ms."""
        found = self._nv.ask(lambda: self._nv.py.nvmlDeviceGetPcieThroughput(self._handle, counter))
        return self._ours.scaled(found, KILOBYTE)

    def device(self) -> dict[str, Any]:
        """Who it is, its limits, its links and how it is shared."""
        nv, py, handle, ours = self._nv, self._nv.py, self._handle, self._ours
        nv.worst = 0
        told = dict(ours.identity(nv, handle), **ours.loads(nv, handle))
        told.update(ours.links(nv, handle))
        mig = nv.ask(lambda: bool(py.nvmlDeviceGetMigMode(handle)[0]))
        return dict(
            told,
            memory_clock_max=nv.ask(lambda: py.nvmlDeviceGetMaxClockInfo(handle, py.NVML_CLOCK_MEM)),
            ecc_uncorrected=ours.ecc_errors(nv, handle, "UNCORRECTED", py.NVML_VOLATILE_ECC),
            mig=mig,
            mig_devices=nv.ask(self._slices) if mig is True else [] if mig is False else mig,
        )

    def _slices(self) -> list[dict[str, Any]]:
        """The MIG devices; an unused slot answers NOT_FOUND."""
        nv, py, found = self._nv, self._nv.py, []
        for slot in range(py.nvmlDeviceGetMaxMigDeviceCount(self._handle)):
            try:
                each = py.nvmlDeviceGetMigDeviceHandleByIndex(self._handle, slot)
            except py.NVMLError as error:
                if error.value != self._ours.NOT_FOUND:
                    raise
                continue
            told = self._ours.spread(("memory", "memory_used"), self._ours.memory(nv, each))
            found.append(
                dict(
                    told,
                    uuid=nv.ask(functools.partial(py.nvmlDeviceGetUUID, each)),
                    name=nv.ask(functools.partial(py.nvmlDeviceGetName, each)),
                )
            )
        return found

    def processes(self) -> Any:
        """Who holds memory of the GPU; one entry a process, whatever it does there."""
        self._nv.worst = 0
        found: dict[int, tuple[str, Any]] = {}
        for kind in ("Compute", "Graphics"):
            listed = self._ours.running(self._nv, self._handle, kind)
            if not isinstance(listed, list):
                return listed
            for one in listed:
                before = found.get(one.pid)
                both = "C+G" if before and before[0] != kind[0] else kind[0]
                found[one.pid] = both, one.usedGpuMemory
        return [self._process(pid, kind, _told(memory)) for pid, (kind, memory) in found.items()]


def _told(memory: Any) -> Any:
    return {"unknown": "NVML does not report the memory of this process"} if memory is None else memory


def gpus(folder: str, say: Callable[..., None], process: Callable[..., Any]) -> list[Any]:
    """Start NVML and return the GPUs that it hands out; what fails is told.

    Args:
        folder: the directory (or zip) that holds pynvml.
        say: tells a line.
        process: tells of a process.
    """
    watch = importlib.import_module("watch_nvidia")

    def make(ours: Any, nv: NvmlLibrary, index: int, handle: Any) -> MonitoredNvidiaGpu:
        return MonitoredNvidiaGpu(watch.WatchedNvidiaGpu(ours, nv, index, handle), process, ours, nv, handle)

    found: list[Any] = watch.gpus(folder, say, make)
    return found
