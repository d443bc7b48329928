"""Asks NVML about NVIDIA's GPUs while they are sampled; loaded by sampler.py next to it."""

from __future__ import annotations

import functools
import importlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gpudoctor.workers.nvml import NvmlLibrary
    from gpudoctor.workers.sampler import ProcessTable

_NOT_ASKED = object()
KILOBYTE = 1000  # NVML counts PCIe traffic in KB/s


class SampledNvidiaGpu:
    """One GPU by its handle; its name in the lines is "GPU 0", with NVML's index.

    Args:
        ours: the module nvml.py, which knows how NVML's answers and refusals are written.
        nv: the initialized library.
        index: NVML's.
        handle: what NVML gave for it.
        processes: describes processes.
    """

    def __init__(self, ours: Any, nv: NvmlLibrary, index: int, handle: Any, processes: ProcessTable) -> None:
        self.name = name(index)
        self._ours, self._nv, self._handle, self._processes = ours, nv, handle, processes
        self._nvlinks: Any = _NOT_ASKED

    def sample(self) -> dict[str, Any]:
        """What changes all the time; power is an average of the last second since Ampere, says nvml.h."""
        nv, py, handle = self._nv, self._nv.py, self._handle
        nv.worst = 0  # of this GPU and this round, not of the one before
        return {
            "sm_clock": nv.ask(lambda: py.nvmlDeviceGetClockInfo(handle, py.NVML_CLOCK_SM)),
            "memory_clock": nv.ask(lambda: py.nvmlDeviceGetClockInfo(handle, py.NVML_CLOCK_MEM)),
            "event_reasons": self._ours.event_reasons(nv, handle),
            "temperature": self._ours.temperature(nv, handle),
            "power": self._ours.scaled(nv.ask(lambda: py.nvmlDeviceGetPowerUsage(handle)), 0.001),
            "utilization": nv.ask(lambda: py.nvmlDeviceGetUtilizationRates(handle).gpu),
            "link_generation": nv.ask(lambda: py.nvmlDeviceGetCurrPcieLinkGeneration(handle)),
            "link_width": nv.ask(lambda: py.nvmlDeviceGetCurrPcieLinkWidth(handle)),
        }

    def full_sample(self) -> dict[str, Any]:
        """The same and more; each of the two questions for traffic takes NVML 20 ms."""
        nv, py, handle = self._nv, self._nv.py, self._handle
        return dict(
            self.sample(),
            memory_used=self._ours.spread(("memory", "memory_used"), self._ours.memory(nv, handle))["memory_used"],
            performance_state=self._ours.performance(nv, handle),
            fan=nv.ask(lambda: py.nvmlDeviceGetFanSpeed(handle)),
            pcie_rx=self._traffic(py.NVML_PCIE_UTIL_RX_BYTES),
            pcie_tx=self._traffic(py.NVML_PCIE_UTIL_TX_BYTES),
        )

    def usage(self) -> dict[str, Any]:
        """What tells whether it computes."""
        nv, py, handle = self._nv, self._nv.py, self._handle
        nv.worst = 0
        return {
            "utilization": nv.ask(lambda: py.nvmlDeviceGetUtilizationRates(handle).gpu),
            "memory_used": self._ours.spread(("memory", "memory_used"), self._ours.memory(nv, handle))["memory_used"],
        }

    def _traffic(self, counter: int) -> Any:
        """Bytes a second, as the GPU sees them, over the last 20 ms."""
        found = self._nv.ask(lambda: self._nv.py.nvmlDeviceGetPcieThroughput(self._handle, counter))
        return self._ours.scaled(found, KILOBYTE)

    def counters(self) -> dict[str, Any]:
        """What only grows, and who else computes there."""
        nv, py, handle = self._nv, self._nv.py, self._handle
        nv.worst = 0
        running = self._ours.running(nv, handle, "Compute")
        return {
            "ecc_corrected": self._ours.ecc_errors(nv, handle, "CORRECTED", py.NVML_VOLATILE_ECC),
            "ecc_uncorrected": self._ours.ecc_errors(nv, handle, "UNCORRECTED", py.NVML_VOLATILE_ECC),
            "pcie_replays": nv.ask(lambda: py.nvmlDeviceGetPcieReplayCounter(handle)),
            "others": self._processes.others(p.pid for p in running) if isinstance(running, list) else running,
            **self._nvlink_errors(),
        }

    def _nvlink_errors(self) -> dict[str, Any]:
        """NVLink's counters over all links; which links are up is asked once: it takes up to 18 calls."""
        details = importlib.import_module("nvml_details")
        if self._nvlinks is _NOT_ASKED:
            self._nvlinks = self._nv.ask(lambda: self._ours.nvlinks(self._nv, self._handle))
        if not isinstance(self._nvlinks, list):
            return dict.fromkeys(details.LINKS, self._nvlinks)
        return details.links(self._nv, self._handle, self._nvlinks)  # type: ignore[no-any-return]

    def device(self) -> dict[str, Any]:
        """Who it is, its limits, its links and how it is shared."""
        nv, py, handle, ours = self._nv, self._nv.py, self._handle, self._ours
        nv.worst = 0
        reported = dict(ours.identity(nv, handle), **ours.loads(nv, handle))
        reported.update(ours.links(nv, handle))
        mig = nv.ask(lambda: bool(py.nvmlDeviceGetMigMode(handle)[0]))
        return dict(
            reported,
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
            reported = self._ours.spread(("memory", "memory_used"), self._ours.memory(nv, each))
            found.append(
                dict(
                    reported,
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
        return [self._processes.described(pid, kind, _told(memory)) for pid, (kind, memory) in found.items()]


def _told(memory: Any) -> Any:
    return {"unknown": "NVML does not report the memory of this process"} if memory is None else memory


def name(index: int) -> str:
    """What a GPU is called in the lines."""
    return "GPU %d" % index


def gpus(folder: str, say: Callable[..., None], processes: ProcessTable) -> list[Any]:
    """Start NVML and return the GPUs that it hands out; what fails is reported.

    Args:
        folder: the directory (or zip) that holds pynvml.
        say: writes a line.
        processes: describes processes.
    """
    ours = importlib.import_module("nvml")
    lib = ours.start()
    if lib is None:
        return []
    sys.path.append(folder)
    try:
        pynvml = importlib.import_module("pynvml")
    except ImportError as problem:
        say(no_module="nvidia-ml-py cannot be imported: %s" % problem)
        return []
    return _handed_out(ours, ours.NvmlLibrary(lib, pynvml), say, processes)


def _handed_out(ours: Any, nv: NvmlLibrary, say: Callable[..., None], processes: ProcessTable) -> list[Any]:
    """Ask for each GPU's handle; without persistence mode that starts the GPU, for up to two seconds each."""
    say(stage="count")
    count = nv.ask(nv.py.nvmlDeviceGetCount)
    found = []
    for index in range(count) if ours.known(count) else ():
        say(stage="start of " + name(index))
        nv.worst = 0
        handle = nv.ask(functools.partial(nv.py.nvmlDeviceGetHandleByIndex, index))
        if ours.known(handle):
            found.append(SampledNvidiaGpu(ours, nv, index, handle, processes))
        else:
            say(gpu=name(index), refused=handle)
    return found
