"""Copies between the host and the device, alone and next to a computation."""

from __future__ import annotations

import ctypes

from ..backends.base import Overlap, Transfer
from .arrays import NAN, Array, Count, product
from .kernels import TILE, blocks
from .library import INVALID_VALUE, NOT_SUPPORTED, OPERATING_SYSTEM, OUT_OF_MEMORY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .device import CudaContext

PORTABLE = 1  # CU_MEMHOSTALLOC_PORTABLE: pinned for all devices
MEMORY_TYPE, HOST = 2, 1  # CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_MEMORYTYPE_HOST


class Pinned:
    """Page-locked memory of the host; freed with the object.

    Attributes:
        bytes: it, as a NumPy array.

    Raises:
        MemoryError: so much cannot be page-locked; in libcuda's words.
    """

    def __init__(self, device: CudaContext, numpy: Any, size: int) -> None:
        self._device, self._address = device, 0
        place = ctypes.c_void_p()
        code = device.cuda.code("cuMemHostAlloc", ctypes.byref(place), size, PORTABLE)
        if code in (OUT_OF_MEMORY, OPERATING_SYSTEM, NOT_SUPPORTED):
            raise MemoryError(str(device.cuda.error("cuMemHostAlloc", code)))
        if code:
            raise device.cuda.error("cuMemHostAlloc", code)
        self._address = int(place.value or 0)
        self.bytes = numpy.frombuffer((ctypes.c_ubyte * size).from_address(self._address), "uint8")

    def __del__(self) -> None:
        if self._address and self._device.open:
            self._device.cuda.code("cuMemFreeHost", self._address)


def is_pinned(device: CudaContext, address: int) -> bool | None:
    """Whether the driver knows memory of the host as page-locked; None: it says something else of it."""
    kind = ctypes.c_uint()
    code = device.cuda.code("cuPointerGetAttribute", ctypes.byref(kind), MEMORY_TYPE, address)
    if code == INVALID_VALUE:  # memory that it never heard of
        return False
    return True if code == 0 and kind.value == HOST else None


class CudaCopies(Transfer):
    """Two buffers on the host, one on the device."""

    def __init__(self, device: CudaContext, numpy: Any, size: int, pinned: bool) -> None:
        self._device, self._numpy, self.size = device, numpy, size
        self._held = [Pinned(device, numpy, size) for _ in range(2)] if pinned else []
        self._source, self._target = [h.bytes for h in self._held] or [numpy.zeros(size, "uint8") for _ in range(2)]
        self._between = Array(device, numpy, (-(-size // 4),))
        self.pinned = is_pinned(device, self._source.ctypes.data)
        self._whole = (self._source.ctypes.data, self._target.ctypes.data, self._between.address)

    def fill(self, seed: int) -> None:
        """Random bytes."""
        random = self._numpy.random.default_rng(seed)
        self._source[:] = self._numpy.frombuffer(random.bytes(self.size), "uint8")

    def to_device(self) -> None:
        """Queue the whole."""
        source, _, between = self._whole
        self._device.cuda.call("cuMemcpyHtoDAsync_v2", between, source, self.size, self._device.stream)

    def to_host(self) -> None:
        """Queue the whole."""
        _, target, between = self._whole
        self._device.cuda.call("cuMemcpyDtoHAsync_v2", target, between, self.size, self._device.stream)

    def clear(self) -> None:
        """Zeros, on both sides, after all that was queued."""
        self._device.wait()
        self._target[:] = 0
        self._device.cuda.call("cuMemsetD8Async", self._between.address, 0, self.size, self._device.stream)

    def differing(self) -> int:
        """Bytes that differ, after all that was queued."""
        self._device.wait()
        return int((self._source != self._target).sum())

    def piece(self, offset: int, length: int) -> int:
        """A piece there and back, over the opposite of its bytes."""
        part, stream = slice(offset, offset + length), self._device.stream
        source, target, between = (address + offset for address in self._whole)
        self._device.wait()
        self._target[part] = ~self._source[part]
        self._device.cuda.call("cuMemsetD8Async", between, int(self._target[offset]), length, stream)
        self._device.cuda.call("cuMemcpyHtoDAsync_v2", between, source, length, stream)
        self._device.cuda.call("cuMemcpyDtoHAsync_v2", target, between, length, stream)
        self._device.wait()
        return int((self._source[part] != self._target[part]).sum())


class Streams(Overlap):
    """Copies both ways and products, each on a stream of its own."""

    def __init__(self, device: CudaContext, numpy: Any, size: int, processors: int, engines: int) -> None:
        self._device, self._numpy, self.engines = device, numpy, engines
        self._elements, self._size = size // 4, size // 4 * 4
        self._out, self._in = (Pinned(device, numpy, self._size) for _ in range(2))
        self._there, self._other = (Array(device, numpy, (self._elements,)) for _ in range(2))
        self._copying, self._returning = device.new_stream(), device.new_stream()
        self._number = device.launch("number", blocks(self._elements, most=65535), self._other, self._elements)
        self._number()
        device.download(self._out.bytes, self._other.address)
        side = TILE * int((processors - 1) ** 0.5 + 1)  # a tile for each CPU
        a, b = (Array(device, numpy, (side, side), _random(numpy, side, seed)) for seed in (8, 9))
        self._product = product(a, b, Array(device, numpy, (side, side)))

    def copy(self) -> None:
        """Queue the buffer to the device."""
        source, there = self._out.bytes.ctypes.data, self._there.address
        self._device.cuda.call("cuMemcpyHtoDAsync_v2", there, source, self._size, self._copying)

    def copy_back(self) -> None:
        """Queue another buffer to the host."""
        target, other = self._in.bytes.ctypes.data, self._other.address
        self._device.cuda.call("cuMemcpyDtoHAsync_v2", target, other, self._size, self._returning)

    def compute(self, times: int) -> None:
        """Queue products."""
        for _ in range(times):
            self._product()

    def wait(self) -> None:
        """Wait for all."""
        self._device.wait()

    def ordered(self) -> int:
        """Copy over what is wrong, and let the other stream count what is wrong after the copy's event."""
        self._there.fill(NAN)
        wrong = Count(self._device, self._numpy, "wrong_numbers", self._elements, self._there, 1.0)
        self._device.wait()
        self.copy()
        self._device.follow(self._device.stream, self._copying)
        wrong.queue()
        return wrong.sum()

    def __del__(self) -> None:
        for stream in (getattr(self, "_copying", None), getattr(self, "_returning", None)):
            if stream:
                self._device.end_stream(stream)


def _random(numpy: Any, side: int, seed: int) -> Any:
    return numpy.random.default_rng(seed).standard_normal((side, side), dtype=numpy.float32)
