"""Copies between host and device, alone and next to products on another stream."""

from __future__ import annotations

from ...runner import Unsupported
from ..base import BESIDE, Overlap, Transfer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import PytorchBackend

CHUNK = 16 << 20  # bytes that are compared one by one, where something differs


class PytorchCopies(Transfer):
    """Two buffers on the host and one on the device; on the CPU all three in its memory."""

    def __init__(self, backend: PytorchBackend, size: int, pinned: bool) -> None:
        torch = backend.torch
        if pinned and backend.kind == "cpu":
            raise Unsupported("Pinned memory is only for GPUs, and this is the CPU.")
        self.torch, self.backend, self.size, self._queued = torch, backend, size, pinned
        self.source, self.target = (buffer(backend, size, pinned) for _ in range(2))
        self.between = torch.zeros(size, dtype=torch.uint8, device=backend.device)
        self.pinned = bool(self.source.is_pinned()) if backend.kind != "cpu" else None

    def fill(self, seed: int) -> None:
        """Random bytes, drawn eight at a time."""
        randomised(self.torch, self.source, seed)

    def to_device(self) -> None:
        """Queued where the buffer is pinned; from pageable memory a copy is over when it returns."""
        self.between.copy_(self.source, non_blocking=self._queued)

    def to_host(self) -> None:
        """Likewise."""
        self.target.copy_(self.between, non_blocking=self._queued)

    def clear(self) -> None:
        """Zeros."""
        self.backend.synchronize()
        self.between.zero_()
        self.target.zero_()

    def differing(self) -> int:
        """On the CPU."""
        self.backend.synchronize()
        return differing(self.torch, self.source, self.target)

    def piece(self, offset: int, length: int) -> int:
        """Over zeros, because after a whole round trip the right bytes lie there already."""
        part = slice(offset, offset + length)
        self.clear_piece(part)
        self.between[part].copy_(self.source[part], non_blocking=self._queued)
        self.target[part].copy_(self.between[part], non_blocking=self._queued)
        self.backend.synchronize()
        return differing(self.torch, self.source[part], self.target[part])

    def clear_piece(self, part: slice) -> None:
        """Zeros in a part of the device's buffer and of the second host buffer."""
        self.backend.synchronize()
        self.between[part].zero_()
        self.target[part].zero_()


class PytorchOverlap(Overlap):
    """Three streams: copies to the device, copies to the host, products."""

    def __init__(self, backend: PytorchBackend, size: int) -> None:
        if backend.kind == "cpu":
            raise Unsupported("There is no link for copies that overlap with matmul: this is the CPU.")
        torch, device = backend.torch, backend.device
        self.torch, self.backend, self.engines = torch, backend, backend.engines
        self.upwards, self.downwards, self.computing = (torch.cuda.Stream(device) for _ in range(3))
        self.source, self.back = (buffer(backend, size, True) for _ in range(2))
        randomised(torch, self.source, 1)
        self.there, self.from_there = (torch.zeros(size, dtype=torch.uint8, device=device) for _ in range(2))
        drawn = torch.Generator("cpu").manual_seed(2)
        self.a = torch.randn(BESIDE, BESIDE, generator=drawn).to(device)
        self.product = torch.empty_like(self.a)
        backend.synchronize()

    def copy(self) -> None:
        """Queued on its stream."""
        with self.torch.cuda.stream(self.upwards):
            self.there.copy_(self.source, non_blocking=True)

    def copy_back(self) -> None:
        """Queued on the third."""
        with self.torch.cuda.stream(self.downwards):
            self.back.copy_(self.from_there, non_blocking=True)

    def compute(self, times: int) -> None:
        """Queued one by one."""
        with self.torch.cuda.stream(self.computing):
            for _ in range(times):
                self.torch.mm(self.a, self.a, out=self.product)

    def wait(self) -> None:
        """For the three streams."""
        for stream in (self.upwards, self.downwards, self.computing):
            stream.synchronize()

    def ordered(self) -> int:
        """One is added to each byte on the other stream, after the copy's event, and the sums are compared."""
        self.there.zero_()
        self.backend.synchronize()
        copied = self.torch.cuda.Event()
        self.copy()
        copied.record(self.upwards)
        self.computing.wait_event(copied)
        with self.torch.cuda.stream(self.computing):
            more = self.there + 1
        self.backend.synchronize()
        return differing(self.torch, more.cpu(), self.source + 1)


def buffer(backend: PytorchBackend, size: int, pinned: bool) -> Any:
    """Bytes of host memory, every page touched.

    Raises:
        MemoryError: so much cannot be pinned; WSL limits it, for one.
    """
    torch = backend.torch
    if not pinned:
        return torch.full((size,), 0, dtype=torch.uint8)
    try:
        return torch.empty(size, dtype=torch.uint8, pin_memory=True).zero_()
    except RuntimeError as error:
        if backend.kind_of(error) == "device-error":
            raise
        raise MemoryError("%d MiB cannot be pinned: %s" % (size >> 20, str(error).strip().split("\n")[0])) from error


def randomised(torch: Any, array: Any, seed: int) -> None:
    """Fill bytes on the CPU with random ones, as whole numbers of 64 bits where they go in, which is faster."""
    generator, whole = torch.Generator("cpu").manual_seed(seed), len(array) // 8 * 8
    if whole:
        array[:whole].view(torch.int64).random_(-(2**63), None, generator=generator)
    array[whole:].random_(0, 256, generator=generator)


def differing(torch: Any, one: Any, other: Any) -> int:
    """How many bytes differ, counted only where some do: counting takes far longer than comparing."""
    pairs = zip(one.split(CHUNK), other.split(CHUNK))
    return sum(0 if torch.equal(a, b) else int((a != b).sum()) for a, b in pairs)
