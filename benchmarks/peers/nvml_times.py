"""How long NVML takes to begin, and for each reading that gpudoctor takes of a GPU while tests run.

Writes lines of JSON {"what", "value", "unit", "why"}; a value in milliseconds, the median of many.
"""

import json
import statistics
import sys
import time

import pynvml as nvml

TIMES = 100
READINGS = {
    "SM clock": lambda gpu: nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM),
    "memory clock": lambda gpu: nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_MEM),
    "temperature": lambda gpu: nvml.nvmlDeviceGetTemperature(gpu, nvml.NVML_TEMPERATURE_GPU),
    "power": nvml.nvmlDeviceGetPowerUsage,
    "event reasons": nvml.nvmlDeviceGetCurrentClocksThrottleReasons,
    "link generation": nvml.nvmlDeviceGetCurrPcieLinkGeneration,
    "link width": nvml.nvmlDeviceGetCurrPcieLinkWidth,
    "PCIe replays": nvml.nvmlDeviceGetPcieReplayCounter,
    "utilization": nvml.nvmlDeviceGetUtilizationRates,
    "compute processes": nvml.nvmlDeviceGetComputeRunningProcesses,
    "memory used": nvml.nvmlDeviceGetMemoryInfo,
    "corrected ECC errors": lambda gpu: nvml.nvmlDeviceGetTotalEccErrors(gpu, 0, 0),
    "uncorrected ECC errors": lambda gpu: nvml.nvmlDeviceGetTotalEccErrors(gpu, 1, 0),
    "largest SM clock": lambda gpu: nvml.nvmlDeviceGetMaxClockInfo(gpu, nvml.NVML_CLOCK_SM),
    "largest link generation": nvml.nvmlDeviceGetMaxPcieLinkGeneration,
}


def tell(what, value, unit="", why=""):
    """One line."""
    sys.stdout.write(json.dumps({"what": what, "value": value, "unit": unit, "why": why}) + "\n")


def timed(call):
    """The milliseconds of a call, and what it gave."""
    begun = time.perf_counter()
    found = call()
    return 1000 * (time.perf_counter() - begun), found


def main():
    """Time each reading."""
    tell("NVML: nvmlInit", timed(nvml.nvmlInit)[0], "ms", "once")
    gpu = nvml.nvmlDeviceGetHandleByIndex(0)
    for name, read in READINGS.items():
        try:
            taken = [timed(lambda read=read: read(gpu)) for _ in range(TIMES)]
        except nvml.NVMLError as error:
            tell(f"NVML: {name}", None, "", str(error))
            continue
        milliseconds = [each for each, _ in taken]
        said = str(taken[-1][1]).replace("\n", " ")[:60]
        tell(
            f"NVML: {name}", statistics.median(milliseconds), "ms", f"at most {max(milliseconds):.2f} ms; reads {said}"
        )
    tell("NVML: nvmlShutdown", timed(nvml.nvmlShutdown)[0], "ms", "once")


if __name__ == "__main__":
    main()
