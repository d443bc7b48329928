"""Copies between host and device by CuPy's runtime interface, alone and next to products on another stream."""

from __future__ import annotations

from .base import BESIDE, Overlap, Transfer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .cupy import CupyBackend


class CupyCopies(Transfer):
    """Two buffers on the host and one on the device."""

    def __init__(self, backend: CupyBackend, size: int, pinned: bool) -> None:
        self.backend, self.cupy, self.numpy, self.size = backend, backend.cupy, backend.numpy, size
        self.source, self.target = (buffer(backend, size, pinned) for _ in range(2))
        self.between = backend.cupy.zeros(size, backend.numpy.uint8)
        self.pinned = _pinned(backend, self.source.ctypes.data)

    def fill(self, seed: int) -> None:
        """Random bytes."""
        randomised(self.numpy, self.source, seed)

    def to_device(self) -> None:
        """Queued on the current stream."""
        upwards(self.cupy, self.between.data.ptr, self.source.ctypes.data, self.size)

    def to_host(self) -> None:
        """Likewise."""
        downwards(self.cupy, self.target.ctypes.data, self.between.data.ptr, self.size)

    def clear(self) -> None:
        """Zeros."""
        self.backend.synchronize()
        self.between.fill(0)
        self.target.fill(0)

    def differing(self) -> int:
        """On the CPU."""
        self.backend.synchronize()
        return int(self.numpy.count_nonzero(self.source != self.target))

    def piece(self, offset: int, length: int) -> int:
        """A piece there and back."""
        upwards(self.cupy, self.between.data.ptr + offset, self.source.ctypes.data + offset, length)
        downwards(self.cupy, self.target.ctypes.data + offset, self.between.data.ptr + offset, length)
        self.backend.synchronize()
        part = slice(offset, offset + length)
        return int(self.numpy.count_nonzero(self.source[part] != self.target[part]))


class CupyOverlap(Overlap):
    """Three streams: copies to the device, copies to the host, products."""

    def __init__(self, backend: CupyBackend, size: int) -> None:
        cupy, numpy = backend.cupy, backend.numpy
        self.backend, self.cupy, self.size, self.engines = backend, cupy, size, backend.engines
        self.there_goes, self.here_comes, self.computing = (cupy.cuda.Stream(non_blocking=True) for _ in range(3))
        self.source, self.back = (buffer(backend, size, True) for _ in range(2))
        randomised(numpy, self.source, 1)
        self.there, self.from_there = (cupy.zeros(size, numpy.uint8) for _ in range(2))
        self.a = cupy.asarray(backend.host.normal(BESIDE, BESIDE, 2))
        self.product = cupy.zeros((BESIDE, BESIDE), numpy.float32)
        backend.synchronize()

    def copy(self) -> None:
        """Queued on its stream."""
        with self.there_goes:
            upwards(self.cupy, self.there.data.ptr, self.source.ctypes.data, self.size)

    def copy_back(self) -> None:
        """Queued on the third."""
        with self.here_comes:
            downwards(self.cupy, self.back.ctypes.data, self.from_there.data.ptr, self.size)

    def compute(self, times: int) -> None:
        """Queued one by one."""
        with self.computing:
            for _ in range(times):
                self.cupy.matmul(self.a, self.a, out=self.product)

    def wait(self) -> None:
        """For the three streams."""
        for stream in (self.there_goes, self.here_comes, self.computing):
            stream.synchronize()

    def ordered(self) -> int:
        """One is added to each byte on the other stream, after the copy's event, and the sums are compared."""
        self.there.fill(0)
        self.backend.synchronize()
        copied = self.cupy.cuda.Event()
        self.copy()
        copied.record(self.there_goes)
        self.computing.wait_event(copied)
        with self.computing:
            more = self.there + self.there.dtype.type(1)
        self.backend.synchronize()
        return int((self.cupy.asnumpy(more) != self.source + self.source.dtype.type(1)).sum())


def buffer(backend: CupyBackend, size: int, pinned: bool) -> Any:
    """Bytes of host memory, every page touched. What is pinned goes back to the system with the array.

    Raises:
        MemoryError: so much cannot be pinned; WSL limits it, for one.
    """
    cuda, numpy = backend.cupy.cuda, backend.numpy
    if not pinned:
        return numpy.full(size, 0, numpy.uint8)
    try:
        memory = cuda.PinnedMemory(size)
    except cuda.runtime.CUDARuntimeError as error:
        if backend.kind_of(error) == "device-error":
            raise
        raise MemoryError("%d MiB cannot be pinned: %s" % (size >> 20, error)) from error
    array = numpy.frombuffer(cuda.PinnedMemoryPointer(memory, 0), numpy.uint8, size)
    array.fill(0)
    return array


def randomised(numpy: Any, array: Any, seed: int) -> None:
    """Fill bytes with random ones."""
    array[:] = numpy.frombuffer(numpy.random.default_rng(seed).bytes(len(array)), numpy.uint8)


def upwards(cupy: Any, device: int, host: int, size: int) -> None:
    """Queue a copy to the device on the current stream."""
    runtime, stream = cupy.cuda.runtime, cupy.cuda.get_current_stream()
    runtime.memcpyAsync(device, host, size, runtime.memcpyHostToDevice, stream.ptr)


def downwards(cupy: Any, host: int, device: int, size: int) -> None:
    """Queue a copy to the host on the current stream."""
    runtime, stream = cupy.cuda.runtime, cupy.cuda.get_current_stream()
    runtime.memcpyAsync(host, device, size, runtime.memcpyDeviceToHost, stream.ptr)


def _pinned(backend: CupyBackend, pointer: int) -> bool | None:
    """What the driver says of host memory; None on ROCm, whose numbers for kinds of memory changed with release 6."""
    runtime = backend.cupy.cuda.runtime
    if runtime.is_hip:
        return None
    try:
        return bool(runtime.pointerGetAttributes(pointer).type == runtime.memoryTypeHost)
    except runtime.CUDARuntimeError:  # before CUDA 11: it knows no such pointer
        return False
