"""Copies between the host and JAX's device by jax.device_put, from pageable memory and from pinned."""

from __future__ import annotations

from ...runner import Unsupported
from .. import xla
from ..base import Transfer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import JaxBackend

# Each copy makes an array: so many may wait in the queue, which keeps it busy and the memory bounded.
IN_FLIGHT = 3
TRIAL = 4096  # bytes of the copy that shows whether pinned memory works
# What XLA says of a copy that it has not learnt, and JAX of a kind of memory that the device has not.
MISSING = ("UNIMPLEMENTED", "memory kind", "memory_kind")


def transfer(backend: JaxBackend, size: int, pinned: bool) -> Transfer:
    """Copies of `size` bytes.

    Raises:
        Unsupported: no pinned memory here.
        MemoryError: so much cannot be pinned.
    """
    if not pinned:
        return JaxTransfer(backend, size)
    if backend.kind == "cpu":
        raise Unsupported("Pinned memory is only for GPUs, and this is the CPU.")
    try:
        trial = PinnedTransfer(backend, TRIAL)
        trial.fill(0)
        trial.to_device()
        trial.to_host()
        trial.differing()
        return PinnedTransfer(backend, size)
    except Exception as error:
        if isinstance(error, MemoryError) or xla.kind_of(error) == "device-error":
            raise
        if any(word in str(error) for word in MISSING) or isinstance(error, TypeError):
            raise Unsupported("JAX %s cannot copy pinned memory here: %s" % (backend.version, error)) from error
        raise


class JaxTransfer(Transfer):
    """Pageable memory: NumPy's, which XLA copies through buffers of its own."""

    def __init__(self, backend: JaxBackend, size: int) -> None:
        self.backend, self.size, self.numpy = backend, size, backend.numpy
        self.source: Any = self.numpy.zeros(size, self.numpy.uint8)
        self.between: Any = None
        self.target: Any = None
        self._waiting: list[Any] = []

    def fill(self, seed: int) -> None:
        """Random bytes."""
        self.source = self.numpy.frombuffer(self.numpy.random.default_rng(seed).bytes(self.size), self.numpy.uint8)

    def to_device(self) -> None:
        """A new array on the device; on the CPU a copy, where JAX would else use NumPy's memory itself."""
        on_cpu = self.backend.kind == "cpu"
        self.between = self._queued(self.backend.put(self.source.copy() if on_cpu else self.source))

    def to_host(self) -> None:
        """A new array of NumPy; it is made at once."""
        self.target = self._fetched(self.between)

    def clear(self) -> None:
        """Zeros."""
        zeros = self.numpy.zeros(self.size, self.numpy.uint8)
        self.between, self.target = self._queued(self.backend.put(zeros)), zeros

    def differing(self) -> int:
        """Counted by NumPy."""
        return int((self.source != self.target).sum())

    def piece(self, offset: int, length: int) -> int:
        """From this offset of the source; where it lies on the device, XLA decides."""
        part = self.source[offset : offset + length]
        there = self.backend.put(part.copy() if self.backend.kind == "cpu" else part)
        return int((part != self._fetched(there)).sum())

    def _queued(self, array: Any) -> Any:
        self._waiting.append(array)
        if len(self._waiting) > IN_FLIGHT:
            self._waiting.pop(0).block_until_ready()
        self.backend.queued(list(self._waiting))  # all of them: XLA copies on several streams in turn
        return array

    def _fetched(self, array: Any) -> Any:
        """Its bytes, copied again: an array keeps what was copied of it, so another is made of the same buffer."""
        again = self.backend.jax.make_array_from_single_device_arrays(array.shape, array.sharding, [array])
        found = self.numpy.asarray(again)
        return found.copy() if self.backend.kind == "cpu" else found


class PinnedTransfer(JaxTransfer):
    """Pinned memory, which JAX has as a kind of memory of the device."""

    def __init__(self, backend: JaxBackend, size: int) -> None:
        super().__init__(backend, size)
        one_device = backend.jax.sharding.SingleDeviceSharding
        self._of_host = one_device(backend.device, memory_kind="pinned_host")
        self._of_device = one_device(backend.device, memory_kind="device")
        self._source = self._pin(self.source)
        self._target: Any = None

    def fill(self, seed: int) -> None:
        """Random bytes, copied into pinned memory."""
        super().fill(seed)
        self._source = self._pin(self.source)
        self.pinned = self._is_pinned()

    def to_device(self) -> None:
        """From one kind of memory to the other."""
        self.between = self._queued(self.backend.put(self._source, self._of_device))

    def to_host(self) -> None:
        """And back."""
        self._target = self._queued(self.backend.put(self.between, self._of_host))

    def clear(self) -> None:
        """Zeros."""
        super().clear()
        self._target = self._pin(self.target)

    def differing(self) -> int:
        """Counted by NumPy."""
        self.target = self._fetched(self._target)
        return super().differing()

    def piece(self, offset: int, length: int) -> int:
        """Through an array of its own."""
        part = self.source[offset : offset + length]
        there = self.backend.put(self._pin(part), self._of_device)
        return int((part != self._fetched(self.backend.put(there, self._of_host))).sum())

    def _pin(self, values: Any) -> Any:
        try:
            return self.backend.put(values, self._of_host).block_until_ready()
        except Exception as error:
            if xla.kind_of(error) == "out-of-memory":
                raise MemoryError(str(error)) from error
            raise

    def _is_pinned(self) -> bool | None:
        try:
            return self.backend.chip.pinned(self._source.unsafe_buffer_pointer())
        except Exception:  # an address is no public part of every version
            return None
