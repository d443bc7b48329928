"""Asks NVML about NVIDIA's GPUs while they are watched; loaded by watch.py next to it."""

from __future__ import annotations

import functools
import importlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gpudoctor.workers.nvml import NvmlLibrary
    from gpudoctor.workers.watch import Others


class WatchedNvidiaGpu:
    """One GPU by its handle; its name in the lines is "GPU 0", with NVML's index.

    Args:
        ours: the module nvml.py, which knows how NVML's answers and refusals are told.
        nv: the initialized library.
        index: NVML's.
        handle: what NVML gave for it.
    """

    def __init__(self, ours: Any, nv: NvmlLibrary, index: int, handle: Any) -> None:
        self.name = name(index)
        self._ours, self._nv, self._handle = ours, nv, handle

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

    def counters(self, others: Others) -> dict[str, Any]:
        """What only grows, and who else computes there."""
        nv, py, handle = self._nv, self._nv.py, self._handle
        nv.worst = 0
        running = self._ours.running(nv, handle, "Compute")
        return {
            "ecc_corrected": self._ours.ecc_errors(nv, handle, "CORRECTED", py.NVML_VOLATILE_ECC),
            "ecc_uncorrected": self._ours.ecc_errors(nv, handle, "UNCORRECTED", py.NVML_VOLATILE_ECC),
            "pcie_replays": nv.ask(lambda: py.nvmlDeviceGetPcieReplayCounter(handle)),
            "others": others.count(p.pid for p in running) if isinstance(running, list) else running,
        }


def name(index: int) -> str:
    """What a GPU is called in the lines."""
    return "GPU %d" % index


def gpus(folder: str, say: Callable[..., None], make: Callable[..., Any] = WatchedNvidiaGpu) -> list[Any]:
    """Start NVML and return the GPUs that it hands out; what fails is told.

    Args:
        folder: the directory (or zip) that holds pynvml.
        say: tells a line.
        make: makes a GPU of the arguments of `Gpu`.
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
    return handed_out(ours, ours.NvmlLibrary(lib, pynvml), say, make)


def handed_out(ours: Any, nv: NvmlLibrary, say: Callable[..., None], make: Callable[..., Any]) -> list[Any]:
    """Ask for each GPU's handle; without persistence mode that starts the GPU, for up to two seconds each."""
    say(stage="count")
    count = nv.ask(nv.py.nvmlDeviceGetCount)
    found = []
    for index in range(count) if ours.known(count) else ():
        say(stage="start of " + name(index))
        nv.worst = 0
        handle = nv.ask(functools.partial(nv.py.nvmlDeviceGetHandleByIndex, index))
        if ours.known(handle):
            found.append(make(ours, nv, index, handle))
        else:
            say(gpu=name(index), refused=handle)
    return found
