"""One device through libcuda: its context, its memory, its streams and its clock."""

from __future__ import annotations

import ctypes

from .kernels import Kernels, Launch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .library import CudaLibrary

# CUdevice_attribute
PROCESSORS, CACHE, COPY_ENGINES, MAJOR, MINOR = 16, 38, 40, 75, 76
NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING: the stream waits for no other that nobody names
TIMED, UNTIMED = 0, 2  # CU_EVENT_DEFAULT, CU_EVENT_DISABLE_TIMING


class CudaContext:
    """A device with its primary context, which is the current one from now on.

    Attributes:
        cuda: the library.
        handle: its CUdevice.
        context: its primary context.
        stream: on which everything runs that names no other.
        kernels: ours, compiled when the first is asked for.

    Raises:
        CudaError: the device or its context cannot be had.
    """

    def __init__(self, cuda: CudaLibrary, ordinal: int) -> None:
        self.cuda = cuda
        self.handle = cuda.number("cuDeviceGet", ordinal)
        self.context = cuda.handle("cuDevicePrimaryCtxRetain", self.handle)
        self.open = True
        self._streams: list[Any] = []
        self.make_current()
        self.stream = self.new_stream()
        self._begin, self._end = (cuda.handle("cuEventCreate", TIMED) for _ in range(2))
        self._join = cuda.handle("cuEventCreate", UNTIMED)
        self.kernels = Kernels(cuda, (self.attribute(MAJOR), self.attribute(MINOR)))

    # -- what it is --------------------------------------------------------------------------------------

    def attribute(self, which: int) -> int:
        """A CUdevice_attribute's value."""
        value: int = self.cuda.number("cuDeviceGetAttribute", which, self.handle)
        return value

    def name(self) -> str:
        """As the driver calls it."""
        text = ctypes.create_string_buffer(256)
        self.cuda.call("cuDeviceGetName", text, len(text), self.handle)
        return text.value.decode("utf-8", "replace")

    def free(self) -> int:
        """Bytes of memory that are free."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.cuda.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def make_current(self) -> None:
        """Let the calls that follow concern this device."""
        self.cuda.call("cuCtxSetCurrent", self.context)

    # -- memory ------------------------------------------------------------------------------------------

    def allocate(self, size: int) -> int:
        """The address of `size` new bytes."""
        address: int = self.cuda.number("cuMemAlloc_v2", max(1, size), kind=ctypes.c_uint64)
        return address

    def give_back(self, address: int) -> None:
        """Free memory; where the context is lost or left, it has gone with that."""
        if self.open:
            self.cuda.code("cuMemFree_v2", address)

    def upload(self, address: int, host: Any) -> None:
        """Copy a NumPy array in C order to the device, and wait for it."""
        self.cuda.call("cuMemcpyHtoDAsync_v2", address, host.ctypes.data, host.nbytes, self.stream)
        self.cuda.call("cuStreamSynchronize", self.stream)

    def download(self, host: Any, address: int) -> None:
        """Copy from the device into a NumPy array in C order, after all that was queued before."""
        self.cuda.call("cuMemcpyDtoHAsync_v2", host.ctypes.data, address, host.nbytes, self.stream)
        self.cuda.call("cuStreamSynchronize", self.stream)

    # -- work --------------------------------------------------------------------------------------------

    def launch(self, name: str, blocks: tuple[int, int], *arguments: Any) -> Launch:
        """A kernel with its arguments, ready to be queued; numbers become what the kernel's parameters are."""
        return Launch(self.cuda, self.kernels, name, blocks, arguments, self.stream)

    def new_stream(self) -> Any:
        """A stream of its own, which ends with the device."""
        stream = self.cuda.handle("cuStreamCreate", NON_BLOCKING)
        self._streams.append(stream)
        return stream

    def end_stream(self, stream: Any) -> None:
        """Give a stream back."""
        if self.open:
            self._streams.remove(stream)
            self.cuda.code("cuStreamDestroy_v2", stream)

    def follow(self, stream: Any, other: Any) -> None:
        """Let what is queued on a stream from now on wait for what is queued on another by now."""
        self.cuda.call("cuEventRecord", self._join, other)
        self.cuda.call("cuStreamWaitEvent", stream, self._join, 0)

    def wait(self) -> None:
        """Wait for all streams."""
        self.cuda.call("cuCtxSynchronize")

    def elapsed(self, call: Callable[[], Any], times: int) -> float:
        """The device's seconds of one of `times` calls queued together, on whichever streams they queue."""
        self.cuda.call("cuEventRecord", self._begin, self.stream)
        for stream in self._streams[1:]:
            self.cuda.call("cuStreamWaitEvent", stream, self._begin, 0)
        for _ in range(times):
            call()
        for stream in self._streams[1:]:
            self.follow(self.stream, stream)
        self.cuda.call("cuEventRecord", self._end, self.stream)
        self.cuda.call("cuEventSynchronize", self._end)
        return float(self.cuda.number("cuEventElapsedTime", self._begin, self._end, kind=ctypes.c_float)) / 1e3 / times

    def close(self) -> None:
        """Give back everything that was taken, and the context."""
        self.open = False
        self.kernels.close()
        for event in (self._begin, self._end, self._join):
            self.cuda.call("cuEventDestroy_v2", event)
        for stream in self._streams:
            self.cuda.call("cuStreamDestroy_v2", stream)
        self._streams = []
        self.cuda.call("cuDevicePrimaryCtxRelease_v2", self.handle)
