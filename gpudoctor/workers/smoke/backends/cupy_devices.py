"""Between GPUs: copies from one to another, and sums over all by NCCL from this one process."""

from __future__ import annotations

import importlib
import time

from ..runner import Unsupported
from .base import Peer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .cupy import CupyBackend

WARM_UP, TIMED = 3, 10  # sums
ODD = 2654435761  # 2^32 over the golden ratio: neighbors differ in every byte


class Between(Peer):
    """Copies between two devices."""

    def __init__(self, backend: CupyBackend, source: int, target: int, size: int) -> None:
        cupy, runtime = backend.cupy, backend.cupy.cuda.runtime
        self.backend, self.cupy, self.source, self.target, self.size = backend, cupy, source, target, size
        self.can_access = bool(runtime.deviceCanAccessPeer(source, target))
        if self.can_access:
            _open(cupy, source, target)
            _open(cupy, target, source)
        with cupy.cuda.Device(source):
            self.there, self.stream = pattern(backend, size), cupy.cuda.Stream(non_blocking=True)
            runtime.deviceSynchronize()
        with cupy.cuda.Device(target):
            self.here = cupy.zeros(size, backend.numpy.uint8)
            runtime.deviceSynchronize()

    def copy(self) -> None:
        """Queued on a stream of the source: over the link where that is permitted, else through the host."""
        with self.cupy.cuda.Device(self.source):
            self.cupy.cuda.runtime.memcpyPeerAsync(
                self.here.data.ptr, self.target, self.there.data.ptr, self.source, self.size, self.stream.ptr
            )

    def wait(self) -> None:
        """For the stream."""
        with self.cupy.cuda.Device(self.source):
            self.stream.synchronize()

    def differing(self) -> int:
        """On the target, which makes the same bytes itself."""
        self.wait()
        with self.cupy.cuda.Device(self.target):
            return int(self.cupy.count_nonzero(self.here != pattern(self.backend, self.size)))


def pattern(backend: CupyBackend, size: int) -> Any:
    """Bytes on the current device that tell their places."""
    numpy, words = backend.numpy, -(-size // 4)
    return (backend.cupy.arange(words, dtype=numpy.uint32) * numpy.uint32(ODD)).view(numpy.uint8)[:size]


def _open(cupy: Any, one: int, other: int) -> None:
    """Let a device reach another's memory, in this process."""
    runtime = cupy.cuda.runtime
    with cupy.cuda.Device(one):
        try:
            runtime.deviceEnablePeerAccess(other)
        except runtime.CUDARuntimeError as error:
            if "PeerAccessAlreadyEnabled" not in str(error):
                raise


def summed(backend: CupyBackend, size: int, pause: Callable[[], None]) -> dict[str, Any]:
    """As `allreduce` of the base class has it."""
    nccl, ranks = _library(), backend.peers()
    communicators = nccl.NcclCommunicator.initAll(list(range(ranks)))
    try:
        wrong, seconds = _single(backend, nccl, communicators, size, pause)
        wrong += _half(backend, nccl, communicators, size)
    finally:
        for communicator in communicators:
            communicator.destroy()
    transport = "rccl" if backend.kind == "rocm" else "nccl"
    return {"ranks": ranks, "transport": transport, "wrong": wrong, "seconds": seconds, "bytes": size // 4 * 4}


def _library() -> Any:
    try:
        nccl = importlib.import_module("cupy.cuda.nccl")
    except ImportError as error:
        raise Unsupported("CuPy cannot load NCCL: %s." % str(error).rstrip(".")) from error
    if not nccl.available:
        raise Unsupported("CuPy finds no NCCL, which is a separate package.")
    return nccl


class Sum:
    """One sum over all devices: rank r brings the r-th value, and each gets the sum of all."""

    def __init__(self, backend: CupyBackend, nccl: Any, communicators: Any, values: Any, count: int, kind: int) -> None:
        self.cupy, self.nccl, self.communicators, self.kind = backend.cupy, nccl, communicators, kind
        self.sides = []
        for rank, value in enumerate(values[:-1]):
            with self.cupy.cuda.Device(rank):
                mine = self.cupy.full(count, value, values.dtype)
                sum_ = self.cupy.zeros(count, values.dtype)
                self.sides.append((mine, sum_, self.cupy.cuda.Stream(non_blocking=True)))
                self.cupy.cuda.runtime.deviceSynchronize()
        self.expected = values[-1]

    def once(self) -> float:
        """Sum, and wait for the slowest; the seconds that it took."""
        begun = time.perf_counter()
        self.nccl.groupStart()
        for rank, (mine, sum_, stream) in enumerate(self.sides):
            with self.cupy.cuda.Device(rank):
                self.communicators[rank].allReduce(
                    mine.data.ptr, sum_.data.ptr, mine.size, self.kind, self.nccl.NCCL_SUM, stream.ptr
                )
        self.nccl.groupEnd()
        for _, _, stream in self.sides:
            stream.synchronize()
        return time.perf_counter() - begun

    def wrong(self) -> int:
        """Elements that are not the sum."""
        found = 0
        for rank, (_, sum_, _) in enumerate(self.sides):
            with self.cupy.cuda.Device(rank):
                found += int(self.cupy.count_nonzero(sum_ != self.expected))
        return found


def _values(numpy: Any, ranks: int) -> Any:
    """What each rank brings, and at the end the sum."""
    return numpy.array([*range(1, ranks + 1), ranks * (ranks + 1) // 2], numpy.float32)


def _single(
    backend: CupyBackend, nccl: Any, communicators: Any, size: int, pause: Callable[[], None]
) -> tuple[int, list[float]]:
    """Sums of float32: elements that are wrong, and the seconds of each timed one."""
    values = _values(backend.numpy, len(communicators))
    sums, seconds = Sum(backend, nccl, communicators, values, size // 4, nccl.NCCL_FLOAT32), []
    for _ in range(WARM_UP + TIMED):
        pause()
        seconds.append(sums.once())
    return sums.wrong(), seconds[WARM_UP:]


def _half(backend: CupyBackend, nccl: Any, communicators: Any, size: int) -> int:
    """Sums of bf16, of which the upper half of a float32 are the bits; elements that are wrong."""
    kind = getattr(nccl, "NCCL_BFLOAT16", None)
    if kind is None:
        return 0
    numpy = backend.numpy
    values = (_values(numpy, len(communicators)).view(numpy.uint32) >> numpy.uint32(16)).astype(numpy.uint16)
    sums = Sum(backend, nccl, communicators, values, size // 2, kind)
    sums.once()
    return sums.wrong()
