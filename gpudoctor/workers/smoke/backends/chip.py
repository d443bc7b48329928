"""What the driver says of a device next to a framework that does not: free memory, CPUs, access to another.

It asks the libraries that the framework has loaded anyway, in the context that the framework works in.
"""

from __future__ import annotations

import ctypes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# CUdevice_attribute, CUpointer_attribute and CUmemorytype of cuda.h,
# https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
PROCESSORS, LEVEL_2_CACHE, COPY_ENGINES = 16, 38, 40
POINTER_MEMORY_TYPE, MEMORY_OF_HOST = 2, 1
INVALID_VALUE = 1  # CUresult: of memory that the driver never heard of


class DeviceInfo:
    """One device, as libcuda or the HIP runtime numbers it; every answer is None where the driver gives none."""

    def __init__(self, kind: str, index: int) -> None:
        self.kind, self.index = kind, index
        self.library = _library(kind)
        if kind == "cuda" and self.library is not None and self.library.cuInit(0) != 0:
            self.library = None

    def processors(self) -> int | None:
        """Streaming multiprocessors."""
        return self._attribute(PROCESSORS)

    def copy_engines(self) -> int | None:
        """How many copies may run next to each other: CUDA's asyncEngineCount."""
        return self._attribute(COPY_ENGINES)

    def cache(self) -> int | None:
        """Bytes of the level-2 cache."""
        return self._attribute(LEVEL_2_CACHE)

    def free(self) -> int | None:
        """The bytes of memory that nobody has taken."""
        if self.library is None:
            return None
        try:
            return self._free_of_amd() if self.kind == "rocm" else self._free_of_nvidia()
        except AttributeError:  # a driver without one of the functions
            return None

    def can_access(self, other: int) -> bool | None:
        """Whether this device may read the memory of another directly."""
        name = "hipDeviceCanAccessPeer" if self.kind == "rocm" else "cuDeviceCanAccessPeer"
        answer = self._number(name, self.index, other)
        return None if answer is None else bool(answer)

    def pinned(self, address: int) -> bool | None:
        """Whether host memory at an address is page-locked; None where the driver does not say."""
        ask = getattr(self.library, "cuPointerGetAttribute", None) if self.kind == "cuda" else None
        if ask is None:
            return None
        kind = ctypes.c_int()
        code = ask(ctypes.byref(kind), POINTER_MEMORY_TYPE, ctypes.c_uint64(address))
        return code == 0 and kind.value == MEMORY_OF_HOST if code in (0, INVALID_VALUE) else None

    def _attribute(self, which: int) -> int | None:
        return self._number("cuDeviceGetAttribute", which, self.index) if self.kind == "cuda" else None

    def _number(self, name: str, *arguments: Any) -> int | None:
        function, value = getattr(self.library, name, None), ctypes.c_int()
        if function is None or function(ctypes.byref(value), *arguments) != 0:
            return None
        return value.value

    def _free_of_nvidia(self) -> int | None:
        """Of the primary context, in which frameworks work: it is there already, and is left as it was."""
        driver, context, old = self.library, ctypes.c_void_p(), ctypes.c_void_p()
        if driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), self.index) != 0:
            return None
        try:
            if driver.cuCtxPushCurrent_v2(context) != 0:
                return None
            found = _memory(driver.cuMemGetInfo_v2)
            driver.cuCtxPopCurrent_v2(ctypes.byref(old))
            return found
        finally:
            driver.cuDevicePrimaryCtxRelease_v2(self.index)

    def _free_of_amd(self) -> int | None:
        """Of the device that is current in this thread, put back afterwards."""
        driver, before = self.library, ctypes.c_int()
        if driver.hipGetDevice(ctypes.byref(before)) != 0 or driver.hipSetDevice(self.index) != 0:
            return None
        try:
            return _memory(driver.hipMemGetInfo)
        finally:
            driver.hipSetDevice(before.value)


def _memory(ask: Any) -> int | None:
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    return free.value if ask(ctypes.byref(free), ctypes.byref(total)) == 0 else None


def _library(kind: str) -> Any:
    """The driver's library; of AMD's the copy that the framework has loaded, because wheels bring their own."""
    try:
        if kind == "cuda":
            return ctypes.CDLL("libcuda.so.1")
        path = _mapped("libamdhip64.so") if kind == "rocm" else None
        return ctypes.CDLL(path) if path else None
    except OSError:
        return None


def _mapped(name: str) -> str | None:
    """The path of a library that this process has loaded; None where it has not."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as lines:
            paths = ("/" + line.rstrip("\n").partition("/")[2] for line in lines)
            return next((path for path in paths if path.rsplit("/", 1)[-1].startswith(name)), None)
    except OSError:
        return None
