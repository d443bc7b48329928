"""Asks NVML about the driver and about each GPU, a JSON line a step, each question guarded by itself.

It runs in a child, because NVML can hang on a driver or on one GPU. Standard library and nvidia-ml-py only,
Python 3.8 and newer. NVML may run the driver's nvidia-modprobe, and it wakes a laptop's GPU; nothing else is changed.
Numbers that stand for something are told as NVML gives them; gpudoctor/knowledge/nvml.toml names them.

    nvml.py FOLDER [OURS]    the directory (or zip) that holds nvidia-ml-py's pynvml, and the one of this file
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import sys

TYPE_CHECKING = False  # typing itself is not imported: that would cost time
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TextIO

# nvmlReturn_t, https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html
INVALID_ARGUMENT, NOT_SUPPORTED, NOT_FOUND, NO_POWER, FUNCTION_NOT_FOUND, LOST, RESET_REQUIRED, OTHER_VERSION = (
    2, 3, 6, 8, 13, 15, 16, 25,
)  # fmt: skip


def private_output() -> TextIO:
    """Return a stream on the old stdout; what the library prints goes to stderr from now on."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return channel


def say(**facts: object) -> None:
    """Write one line at once, so that it outlives a hang."""
    CHANNEL.write(json.dumps(facts) + "\n")
    CHANNEL.flush()


def unknown(why: str) -> dict[str, str]:
    """An Unknown in JSON."""
    return {"unknown": why}


def mapped() -> object:
    """The file of libnvidia-ml that this process has mapped."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            path = line.rstrip("\n").partition("/")[2]
            if path.rsplit("/", 1)[-1].startswith("libnvidia-ml.so"):
                return "/" + path
    return unknown("libnvidia-ml.so is not in /proc/self/maps")


class NvmlLibrary:
    """The library by pynvml, and what its codes mean.

    Args:
        lib: the loaded library.
        module: pynvml; None before the library is initialized.
    """

    def __init__(self, lib: ctypes.CDLL, module: Any) -> None:
        self.lib, self.py, self.worst = lib, module, 0
        if module is not None:
            module.nvmlLib = lib

    def words(self, code: int) -> str:
        """The library's own words for a code."""
        try:
            ask = self.lib.nvmlErrorString
            ask.restype = ctypes.c_char_p
            return str(ask(code).decode("utf-8", "replace"))
        except (AttributeError, ValueError):
            return "error %d" % code

    def why(self, code: int) -> dict[str, str]:
        """An Unknown for a code."""
        if code == FUNCTION_NOT_FOUND:
            return unknown("NVML: this driver is too old to report it")
        return unknown("NVML: " + self.words(code))

    def ask(self, *asks: Callable[[], Any]) -> Any:
        """The first answer: the next variant is tried only where the library is too old for one.

        NOT_SUPPORTED is null: this GPU has no such thing. Anything else is unknown, in NVML's words.
        """
        why = self.why(LOST)
        for question in asks if self.worst != LOST else ():
            try:
                return question()
            except self.py.NVMLError as error:
                code = error.value
                if code == NOT_SUPPORTED:
                    return None
                self.worst = code if code in (NO_POWER, LOST, RESET_REQUIRED) else self.worst
                why = self.why(code)
                if code not in (FUNCTION_NOT_FOUND, OTHER_VERSION):
                    break
            except Exception as error:  # this pynvml is too old for the question, or NVML answered nonsense
                why = unknown("pynvml: %s: %s" % (type(error).__name__, error))
        return why


def known(value: Any) -> bool:
    """Whether NVML gave an answer."""
    return value is not None and not (isinstance(value, dict) and "unknown" in value)


def spread(names: tuple[str, ...], values: Any) -> dict[str, Any]:
    """Several facts of one answer; where there was none, each is as null or unknown as the answer."""
    if isinstance(values, tuple):
        return {name: values[at] for at, name in enumerate(names)}
    return dict.fromkeys(names, values)


def scaled(value: Any, factor: float) -> Any:
    """Milliwatts in watts."""
    return value * factor if known(value) else value


def identity(nv: NvmlLibrary, handle: Any) -> dict[str, Any]:
    """Which GPU this is: asked first, of all GPUs, so that one that hangs later has a name."""
    py = nv.py

    def place() -> tuple[str, str]:
        pci = py.nvmlDeviceGetPciInfo_v3(handle)
        return "%04x:%02x:%02x.0" % (pci.domain, pci.bus, pci.device), "%04x" % (pci.pciDeviceId >> 16)

    def capability() -> str:
        return "%d.%d" % tuple(py.nvmlDeviceGetCudaComputeCapability(handle))

    return {
        **spread(("address", "device"), nv.ask(place)),
        "name": nv.ask(lambda: py.nvmlDeviceGetName(handle)),
        "uuid": nv.ask(lambda: py.nvmlDeviceGetUUID(handle)),
        "capability": nv.ask(capability),
        "architecture": nv.ask(lambda: py.nvmlDeviceGetArchitecture(handle)),
    }


def loads(nv: NvmlLibrary, handle: Any) -> dict[str, Any]:
    """Memory, clocks, power and temperature."""
    py, ask = nv.py, nv.ask
    watts = {
        "power": ask(lambda: py.nvmlDeviceGetPowerUsage(handle)),
        "power_limit": ask(lambda: py.nvmlDeviceGetEnforcedPowerLimit(handle)),
        "power_default": ask(lambda: py.nvmlDeviceGetPowerManagementDefaultLimit(handle)),
        "power_max": ask(lambda: py.nvmlDeviceGetPowerManagementLimitConstraints(handle)[1]),
    }
    return {
        **spread(("memory", "memory_used"), memory(nv, handle)),
        **{name: scaled(value, 0.001) for name, value in watts.items()},
        "utilization": ask(lambda: py.nvmlDeviceGetUtilizationRates(handle).gpu),
        "performance_state": performance(nv, handle),
        "temperature": temperature(nv, handle),
        "sm_clock": ask(lambda: py.nvmlDeviceGetClockInfo(handle, py.NVML_CLOCK_SM)),
        "sm_clock_max": ask(lambda: py.nvmlDeviceGetMaxClockInfo(handle, py.NVML_CLOCK_SM)),
        "event_reasons": event_reasons(nv, handle),
    }


def memory(nv: NvmlLibrary, handle: Any) -> Any:
    """Total and used memory in bytes."""

    def reported(*version: Any) -> tuple[int, int]:
        found = nv.py.nvmlDeviceGetMemoryInfo(handle, *version)
        return found.total, found.used

    # The second version leaves what the driver keeps for itself out of `used`.
    return nv.ask(lambda: reported(nv.py.nvmlMemory_v2), reported)


def performance(nv: NvmlLibrary, handle: Any) -> Any:
    """The performance state, 0 fastest."""

    def reported() -> Any:
        state = nv.py.nvmlDeviceGetPerformanceState(handle)
        return unknown("NVML does not know the performance state") if state == nv.py.NVML_PSTATE_UNKNOWN else state

    return nv.ask(reported)


def temperature(nv: NvmlLibrary, handle: Any) -> Any:
    """Degrees Celsius."""
    return nv.ask(
        lambda: nv.py.nvmlDeviceGetTemperatureV(handle, nv.py.NVML_TEMPERATURE_GPU),
        lambda: nv.py.nvmlDeviceGetTemperature(handle, nv.py.NVML_TEMPERATURE_GPU),
    )


def event_reasons(nv: NvmlLibrary, handle: Any) -> Any:
    """The bits that say what holds the clocks."""
    return nv.ask(
        lambda: nv.py.nvmlDeviceGetCurrentClocksEventReasons(handle),
        lambda: nv.py.nvmlDeviceGetCurrentClocksThrottleReasons(handle),  # before driver 535
    )


def links(nv: NvmlLibrary, handle: Any) -> dict[str, Any]:
    """PCIe, NVLink and the fabric of NVSwitches."""
    py, ask = nv.py, nv.ask
    return {
        "link_generation": ask(lambda: py.nvmlDeviceGetCurrPcieLinkGeneration(handle)),
        "link_width": ask(lambda: py.nvmlDeviceGetCurrPcieLinkWidth(handle)),
        "link_generation_max": ask(lambda: py.nvmlDeviceGetMaxPcieLinkGeneration(handle)),
        "link_width_max": ask(lambda: py.nvmlDeviceGetMaxPcieLinkWidth(handle)),
        "pcie_replays": ask(lambda: py.nvmlDeviceGetPcieReplayCounter(handle)),
        "nvlinks": ask(lambda: nvlinks(nv, handle)),
        **spread(
            ("fabric_state", "fabric_status"),
            ask(
                lambda: fabric(py.c_nvmlGpuFabricInfoV_t(), py.nvmlDeviceGetGpuFabricInfoV, handle),
                lambda: fabric(py.c_nvmlGpuFabricInfo_t(), py.nvmlDeviceGetGpuFabricInfo, handle),
            ),
        ),
    }


def nvlinks(nv: NvmlLibrary, handle: Any) -> list[bool] | None:
    """Whether each link is up; null where the GPU has none."""
    states = []
    for link in range(nv.py.NVML_NVLINK_MAX_LINKS):
        try:
            states.append(bool(nv.py.nvmlDeviceGetNvLinkState(handle, link)))
        except nv.py.NVMLError as error:
            if error.value not in (INVALID_ARGUMENT, NOT_SUPPORTED):
                raise
            break
    return states or None


def fabric(info: Any, question: Callable[..., object], handle: Any) -> tuple[int, int]:
    """The state of the GPU's registration with the fabric manager, and its return code."""
    question(handle, ctypes.byref(info))
    return info.state, info.status


def health(nv: NvmlLibrary, handle: Any) -> dict[str, Any]:
    """ECC, repaired memory, and what the driver asks to be done."""
    py, ask = nv.py, nv.ask

    def rows() -> tuple[int, int, bool, bool]:
        corrected, uncorrected, pending, failed = py.nvmlDeviceGetRemappedRows(handle)
        return corrected, uncorrected, bool(pending), bool(failed)

    def recovery() -> int:
        field = py.nvmlDeviceGetFieldValues(handle, [py.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION])[0]
        if field.nvmlReturn == INVALID_ARGUMENT:  # a driver from before this field
            raise py.NVMLError(FUNCTION_NOT_FOUND)
        if field.nvmlReturn:
            raise py.NVMLError(field.nvmlReturn)
        return int(field.value.uiVal)

    return {
        **spread(("ecc", "ecc_pending"), ask(lambda: tuple(map(bool, py.nvmlDeviceGetEccMode(handle))))),
        "ecc_uncorrected": ecc_errors(nv, handle, "UNCORRECTED", py.NVML_VOLATILE_ECC),
        "ecc_uncorrected_total": ecc_errors(nv, handle, "UNCORRECTED", py.NVML_AGGREGATE_ECC),
        **spread(("remapped_corrected", "remapped_uncorrected", "remap_pending", "remap_failed"), ask(rows)),
        "retired_pending": ask(lambda: bool(py.nvmlDeviceGetRetiredPagesPendingStatus(handle))),
        "recovery_action": ask(recovery),
    }


def ecc_errors(nv: NvmlLibrary, handle: Any, kind: str, counter: int) -> Any:
    """How many errors of a kind, CORRECTED or UNCORRECTED, one of the counters has seen."""
    number = getattr(nv.py, "NVML_MEMORY_ERROR_TYPE_" + kind)
    return nv.ask(lambda: nv.py.nvmlDeviceGetTotalEccErrors(handle, number, counter))


def modes(nv: NvmlLibrary, handle: Any) -> dict[str, Any]:
    """How the GPU is shared, who uses it, and what it is called in a warranty case."""
    py, ask = nv.py, nv.ask
    mig = spread(("mig", "mig_pending"), ask(lambda: tuple(map(bool, py.nvmlDeviceGetMigMode(handle)))))
    return {
        **mig,
        "mig_devices": ask(lambda: mig_devices(nv, handle) if mig["mig"] else []) if known(mig["mig"]) else mig["mig"],
        "compute_mode": ask(lambda: py.nvmlDeviceGetComputeMode(handle)),
        "persistence": ask(lambda: bool(py.nvmlDeviceGetPersistenceMode(handle))),
        "processes": processes(nv, handle),
        "virtualization": ask(lambda: py.nvmlDeviceGetVirtualizationMode(handle)),
        "vbios": ask(lambda: py.nvmlDeviceGetVbiosVersion(handle)),
        "serial": ask(lambda: py.nvmlDeviceGetSerial(handle)),
    }


def mig_devices(nv: NvmlLibrary, handle: Any) -> list[str]:
    """The UUIDs of the MIG devices; an unused slot answers NOT_FOUND."""
    found = []
    for slot in range(nv.py.nvmlDeviceGetMaxMigDeviceCount(handle)):
        try:
            found.append(nv.py.nvmlDeviceGetUUID(nv.py.nvmlDeviceGetMigDeviceHandleByIndex(handle, slot)))
        except nv.py.NVMLError as error:
            if error.value != NOT_FOUND:
                raise
    return found


def processes(nv: NvmlLibrary, handle: Any) -> Any:
    """Who holds memory of the GPU, for computing or for graphics; one entry a process."""
    found: dict[int, Any] = {}
    for kind in ("Compute", "Graphics"):
        listed = running(nv, handle, kind)
        if not isinstance(listed, list):
            return listed
        for process in listed:
            found[process.pid] = {"pid": process.pid, "memory": process.usedGpuMemory}
    return list(found.values())


def running(nv: NvmlLibrary, handle: Any, kind: str) -> Any:
    """The processes of a kind, Compute or Graphics, as pynvml gives them."""
    # The third version came with driver 510, the second with 450. The unversioned one is laid out otherwise.
    variants = ["nvmlDeviceGet%sRunningProcesses_v%d" % (kind, version) for version in (3, 2)]
    return nv.ask(*(lambda name=name: getattr(nv.py, name)(handle) for name in variants))


def tell_gpu(nv: NvmlLibrary, index: int, rarer: Any) -> None:
    """Say who a GPU is, then how it does, then what is rarely ill: one that hangs in between has a name."""
    say(stage="gpu %d" % index)
    nv.worst = 0
    handle = nv.ask(lambda: nv.py.nvmlDeviceGetHandleByIndex(index))
    if not known(handle):
        say(gpu={"index": index, "status": status(nv, handle), "error": handle})
        return
    say(gpu=dict(identity(nv, handle), index=index))
    reported: dict[str, Any] = {}
    for part in (modes, health, links, loads):
        reported.update(part(nv, handle))
    say(gpu=dict(reported, index=index, status=status(nv)))
    if rarer:
        say(gpu=dict(rarer.gpu(nv, handle, reported), index=index, status=status(nv)))


def status(nv: NvmlLibrary, refused: Any = None) -> Any:
    """In one word, how the GPU is."""
    names = {0: "ok", NO_POWER: "no-power", LOST: "lost", RESET_REQUIRED: "reset-required"}
    return names[nv.worst] if nv.worst or refused is None else refused


def tell_driver(nv: NvmlLibrary, rarer: Any = None) -> None:
    """Say the driver's versions and how many GPUs there are, then tell of each."""

    def cuda(number: int) -> str:
        return "%d.%d" % (number // 1000, number % 1000 // 10)

    say(stage="system")
    say(driver_version=nv.ask(lambda: nv.py.nvmlSystemGetDriverVersion()))
    # Unlike its second version this answers where libcuda is missing, too.
    say(cuda_version=nv.ask(lambda: cuda(nv.py.nvmlSystemGetCudaDriverVersion())))
    say(stage="count", **(rarer.driver(nv) if rarer else {}))
    count = nv.ask(lambda: nv.py.nvmlDeviceGetCount())
    say(count=count)
    for index in range(count) if known(count) else ():
        tell_gpu(nv, index, rarer)


def start() -> ctypes.CDLL | None:
    """Load and initialize the library; None where that fails."""
    say(stage="load")
    try:
        lib = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError as problem:
        say(not_loaded=str(problem))
        return None
    say(loaded=mapped())
    say(stage="init")
    try:
        code = lib.nvmlInit_v2()
    except AttributeError:
        say(code=unknown("this libnvidia-ml has no nvmlInit_v2"))
        return None
    say(code=code, text=NvmlLibrary(lib, None).words(code))
    return lib if code == 0 else None


def main(folder: str, ours: str = "") -> None:
    """Take all stages one after the other."""
    lib = start()
    if lib is None:
        return
    sys.path += [ours, folder]  # at the end, so that nothing there hides a module of the standard library
    try:
        import pynvml  # type: ignore[import-untyped]
    except ImportError as problem:
        say(no_module="nvidia-ml-py cannot be imported: %s" % problem)
        return
    tell_driver(NvmlLibrary(lib, pynvml), importlib.import_module("nvml_details") if ours else None)


if __name__ == "__main__":
    CHANNEL = private_output()
    main(*sys.argv[1:3] or [""])
    say(stage="done")
    os._exit(0)  # without the driver's own tidying, which can hang too
