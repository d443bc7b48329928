"""Asks NVML what is rarely ill, after all else; loaded by nvml.py next to it.

Heat of the memory, fans, clocks that somebody set, spare rows, the InfoROM, NVLink's counters, confidential computing.
"""

from __future__ import annotations

import ctypes
import functools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gpudoctor.workers.nvml import NvmlLibrary

# nvmlReturn_t and nvmlValueType_t, https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html
INVALID_ARGUMENT, FUNCTION_NOT_FOUND, CORRUPTED_INFOROM = 2, 13, 14
VALUES = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")


def driver(nv: NvmlLibrary) -> dict[str, Any]:
    """Whether confidential computing is on, and whether the GPUs take programs then."""
    py = nv.py
    on = nv.ask(lambda: bool(py.nvmlSystemGetConfComputeState().ccFeature))
    # With protected PCIe (several GPUs in one guest) the state is off, and the GPUs wait to be set ready all the same.
    if on is False and nv.ask(functools.partial(_protects_several, py)) is True:
        on = True
    ready = nv.ask(lambda: bool(py.nvmlSystemGetConfComputeGpusReadyState())) if on is True else on or None
    return {"confidential": on, "accepts_work": ready}


def _protects_several(py: Any) -> bool:
    settings = py.c_nvmlSystemConfComputeSettings_v1_t()
    py._nvmlCheckReturn(py.nvmlSystemGetConfComputeSettings(ctypes.byref(settings)))
    return bool(settings.multiGpuMode)


def gpu(nv: NvmlLibrary, handle: Any, reported: dict[str, Any]) -> dict[str, Any]:
    """What is rarely ill of one GPU.

    Args:
        nv: the library.
        handle: the GPU.
        reported: what NVML has said of it so far; a GPU without ECC or NVLink is not asked about them.
    """
    found = dict(heat(nv, handle), **clocks(nv, handle))
    if found["temperature_slowdown"] is None and isinstance(reported.get("temperature"), int):
        found.update(margins(nv, handle, reported["temperature"]))
    found.update(
        memory(nv, handle) if isinstance(reported.get("ecc"), bool) else dict.fromkeys(MEMORY, reported.get("ecc"))
    )
    found["inforom"] = nv.ask(lambda: inforom(nv, handle))
    nvlinks = reported.get("nvlinks")
    found.update(links(nv, handle, nvlinks) if isinstance(nvlinks, list) else dict.fromkeys(LINKS, nvlinks))
    state = reported.get("fabric_state")
    found.update(fabric(nv, handle) if isinstance(state, int) and state else dict.fromkeys(FABRIC))
    return found


def field(nv: NvmlLibrary, handle: Any, number: int) -> Any:
    """One field's value."""
    return fields(nv, handle, [number])[0]


def fields(nv: NvmlLibrary, handle: Any, numbers: list[Any]) -> list[Any]:
    """The values of fields, by number or by number and link; each carries a return code and a type of its own."""
    found = []
    for one in nv.py.nvmlDeviceGetFieldValues(handle, numbers):
        if one.nvmlReturn:
            # A driver from before the field calls it an invalid argument.
            raise nv.py.NVMLError(FUNCTION_NOT_FOUND if one.nvmlReturn == INVALID_ARGUMENT else one.nvmlReturn)
        found.append(getattr(one.value, VALUES[one.valueType]))
    return found


def margins(nv: NvmlLibrary, handle: Any, temperature: int) -> dict[str, Any]:
    """The thresholds of a GPU that reports them as margins (T.Limit, Ada and later), in degrees Celsius.

    The margin is what is left below the limit; the GPU slows down or shuts down where it shrinks to the field's value.
    """
    py = nv.py
    left = nv.ask(lambda: py.nvmlDeviceGetMarginTemperature(handle))
    if not isinstance(left, int):
        return {}
    names = {
        "temperature_operating_max": py.NVML_FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT,
        "temperature_slowdown": py.NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT,
        "temperature_shutdown": py.NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT,
    }
    limits = {name: nv.ask(functools.partial(field, nv, handle, number)) for name, number in names.items()}
    degrees = {name: temperature + left - limit for name, limit in limits.items() if isinstance(limit, int)}
    return {name: limit for name, limit in degrees.items() if limit > 0}


def heat(nv: NvmlLibrary, handle: Any) -> dict[str, Any]:
    """Temperatures next to the GPU's own, and fans; a driver without a limit may call it 0.

    Of nvmlTemperatureThresholds_t: GPU_MAX is where the GPU may run below its base clock, SLOWDOWN where the hardware
    lowers its clocks, MEM_MAX the memory's temperature from which on the driver does.
    """

    def limit(name: str) -> Any:
        number = getattr(nv.py, "NVML_TEMPERATURE_THRESHOLD_" + name)
        value = nv.ask(lambda: ctypes.c_int(nv.py.nvmlDeviceGetTemperatureThreshold(handle, number)).value)
        return None if isinstance(value, int) and value <= 0 else value

    return {
        "temperature_operating_max": limit("GPU_MAX"),
        "temperature_slowdown": limit("SLOWDOWN"),
        "temperature_shutdown": limit("SHUTDOWN"),
        "temperature_memory": nv.ask(lambda: field(nv, handle, nv.py.NVML_FI_DEV_MEMORY_TEMP)),
        "temperature_memory_max": limit("MEM_MAX"),
        "fans": nv.ask(lambda: fans(nv, handle)),
    }


def fans(nv: NvmlLibrary, handle: Any) -> list[int] | None:
    """The speed at which each fan is meant to run, in per cent; null where the GPU has none of its own."""
    py = nv.py
    count = py.nvmlDeviceGetNumFans(handle)
    return [py.nvmlDeviceGetFanSpeed_v2(handle, each) for each in range(count)] or None


def clocks(nv: NvmlLibrary, handle: Any) -> dict[str, Any]:
    """The clock for programs that nvidia-smi -ac set, for graphics and SM alike, and the card's own."""
    py, kind = nv.py, nv.py.NVML_CLOCK_GRAPHICS
    return {
        "application_clock": nv.ask(lambda: py.nvmlDeviceGetApplicationsClock(handle, kind)),
        "application_clock_default": nv.ask(lambda: py.nvmlDeviceGetDefaultApplicationsClock(handle, kind)),
    }


MEMORY = ("ecc_corrected", "banks_without_spares", "sram_threshold")


def memory(nv: NvmlLibrary, handle: Any) -> dict[str, Any]:
    """Corrected errors, and what is left for repairs."""
    py, ask = nv.py, nv.ask
    corrected = py.NVML_MEMORY_ERROR_TYPE_CORRECTED
    reported = (
        ask(lambda: py.nvmlDeviceGetTotalEccErrors(handle, corrected, py.NVML_VOLATILE_ECC)),
        ask(lambda: py.nvmlDeviceGetRowRemapperHistogram(handle).none),
        ask(lambda: sram_threshold(nv, handle)),
    )
    return {name: reported[at] for at, name in enumerate(MEMORY)}


def sram_threshold(nv: NvmlLibrary, handle: Any) -> bool:
    """Whether more SRAM errors came up than NVIDIA's field diagnosis tolerates."""
    status = nv.py.c_nvmlEccSramErrorStatus_v1_t()
    nv.py.nvmlDeviceGetSramEccErrorStatus(handle, ctypes.byref(status))
    return bool(status.bThresholdExceeded)


def inforom(nv: NvmlLibrary, handle: Any) -> bool:
    """Whether the checksums of the InfoROM are right; nvidia-smi asks the same when it is run without options."""
    try:
        nv.py.nvmlDeviceValidateInforom(handle)
    except nv.py.NVMLError as error:
        if error.value != CORRUPTED_INFOROM:
            raise
        return False
    return True


LINKS = ("nvlink_replays", "nvlink_recoveries", "nvlink_crc")


def links(nv: NvmlLibrary, handle: Any, nvlinks: list[bool]) -> dict[str, Any]:
    """NVLink's error counters, over all links; NVLink 5 has no totals, and counts the recoveries of each link."""
    names = ("REPLAY_ERROR", "RECOVERY_ERROR", "CRC_DATA_ERROR")
    numbers = [getattr(nv.py, "NVML_FI_DEV_NVLINK_%s_COUNT_TOTAL" % name) for name in names]
    found = {LINKS[at]: nv.ask(functools.partial(field, nv, handle, number)) for at, number in enumerate(numbers)}
    number = nv.py.NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS
    each = [(number, link) for link, up in enumerate(nvlinks) if up]
    if found["nvlink_recoveries"] is None and each:
        found["nvlink_recoveries"] = nv.ask(lambda: sum(fields(nv, handle, each)))
    return found


FABRIC = ("fabric_health", "fabric_summary", "fabric_of_several")


def fabric(nv: NvmlLibrary, handle: Any) -> dict[str, Any]:
    """The health of the GPU's NVLink fabric, as a mask and in sum, and whether it spans machines: then it has a UUID.

    A driver that does not know the third version of the question has no sum.
    """

    def reported(info: Any) -> tuple[int | None, int | None, bool]:
        nv.py.nvmlDeviceGetGpuFabricInfoV(handle, ctypes.byref(info))
        return info.healthMask or None, getattr(info, "healthSummary", None), any(bytes(info.clusterUuid))

    found = nv.ask(
        lambda: reported(nv.py.c_nvmlGpuFabricInfo_v3_t()), lambda: reported(nv.py.c_nvmlGpuFabricInfo_v2_t())
    )
    return {name: found[at] if isinstance(found, tuple) else found for at, name in enumerate(FABRIC)}
