"""CuPy on one GPU, of NVIDIA's or AMD's: cuBLAS through `matmul`, kernels that it compiles itself, raw copies."""

from __future__ import annotations

import importlib
from contextlib import contextmanager

from ..array_operations import operations
from ..host_math import NumpyHost
from ..network import ArrayNetwork
from ..runner import Unsupported
from . import cupy_types
from .base import Base, Fused, Overlap, Peer, Transfer, Vectors
from .cpu import threads
from .errors import kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ..weights import Weights

# Errors by their names in cudaError_t after which a context is dead.
DEAD = ("cudaErrorLaunchTimeout", "cudaErrorInvalidPc", "cudaErrorInvalidAddressSpace", "cudaErrorAssert")


class CupyBackend(Base):
    """CuPy."""

    name = "CuPy"
    kind = "cuda"

    def __init__(self, task: dict[str, Any]) -> None:
        super().__init__(task)
        self.host = NumpyHost()
        self.numpy = self.host.module
        self.cupy: Any = importlib.import_module("cupy")
        self.version = str(self.cupy.__version__)
        self.device = int(task.get("device") or 0)
        self.capability = (0, 0)
        self.engines: int | None = None

    # -- the device --------------------------------------------------------------------------------------

    def start(self) -> dict[str, Any]:
        """Take the device."""
        if self.task.get("kind") == "cpu":
            raise Unsupported("CuPy computes on GPUs only.")
        runtime = self.cupy.cuda.runtime
        self.kind = "rocm" if runtime.is_hip else "cuda"
        count = self._count()
        if self.device >= count:
            raise Unsupported("CuPy sees %d GPUs, but no GPU %d." % (count, self.device))
        self.cupy.cuda.Device(self.device).use()
        found = runtime.getDeviceProperties(self.device)
        self.capability = (int(found["major"]), int(found["minor"]))
        self.cache, self.engines = found.get("l2CacheSize") or None, found.get("asyncEngineCount")
        name = found["name"]
        return {
            "kind": self.kind,
            "name": name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name),
            "processors": found.get("multiProcessorCount"),
            "copy_engines": self.engines,
            "memory_free": self.free(),
            "threads": threads(),
        }

    def _count(self) -> int:
        runtime = self.cupy.cuda.runtime
        try:
            return int(runtime.getDeviceCount())
        except runtime.CUDARuntimeError as error:
            raise Unsupported("CuPy finds no GPU: %s." % str(error).rstrip(".")) from error

    def free(self) -> int:
        """What the driver says, and what CuPy's allocator keeps for the next array."""
        kept = self.cupy.get_default_memory_pool().free_bytes()
        return int(self.cupy.cuda.runtime.memGetInfo()[0]) + int(kept)

    def synchronize(self) -> None:
        """Wait for all streams of the device."""
        self.cupy.cuda.runtime.deviceSynchronize()

    def release(self) -> None:
        """What both allocators keep."""
        self.cupy.get_default_memory_pool().free_all_blocks()
        self.cupy.get_default_pinned_memory_pool().free_all_blocks()

    def close(self) -> None:
        """Wait, and give back."""
        self.synchronize()
        self.release()

    def kind_of(self, error: BaseException) -> str:
        """By the names that CuPy puts before CUDA's words."""
        return "device-error" if any(word in str(error) for word in DEAD) else kind_of(error)

    def elapsed(self, call: Callable[[], Any], times: int) -> float:
        """By the device's clock: events before and behind."""
        cuda = self.cupy.cuda
        begun, ended = cuda.Event(), cuda.Event()
        begun.record()
        for _ in range(times):
            call()
        ended.record()
        ended.synchronize()
        return float(cuda.get_elapsed_time(begun, ended)) * 1e-3 / times

    # -- products ----------------------------------------------------------------------------------------

    @contextmanager
    def precision(self, dtype: str) -> Iterator[None]:
        """CuPy's own switch, which goes before the variable CUPY_TF32."""
        lacking = cupy_types.lacking(self, dtype)
        if lacking:
            raise Unsupported(lacking)
        core, single = self.cupy._core, self.numpy.float32
        types = importlib.import_module("cupy._core._routines_linalg")
        before = core.get_compute_type(single)
        core.set_compute_type(single, types.COMPUTE_TYPE_TF32 if dtype == "tf32" else types.COMPUTE_TYPE_DEFAULT)
        try:
            yield
        finally:
            core.set_compute_type(single, before)

    def operand(self, values: Any, dtype: str, side: str = "a") -> tuple[Any, Any]:
        """Rounded on the CPU; for tf32 the device rounds."""
        rounded = values.astype(cupy_types.of(self, dtype))
        return self.cupy.asarray(rounded), rounded.astype(self.numpy.float64)

    def multiply(self, a: Any, b: Any, dtype: str) -> Callable[[], Any]:
        """By `matmul`, which accumulates in float32."""
        out = cupy_types.nans(self, (len(a), b.shape[1]), a.dtype)
        return lambda: self.cupy.matmul(a, b, out=out)

    def values(self, array: Any) -> Any:
        """Copied as bits, so that no kernel has to know the type."""
        bits = self.cupy.asnumpy(array.view(cupy_types.bits(self, array.dtype)))
        return bits.view(array.dtype).astype(self.numpy.float64)

    def unequal(self, one: Any, other: Any) -> int:
        """Counted on the device."""
        return cupy_types.unequal(self, one, other)

    # -- what the other files of this backend have --------------------------------------------------------

    def network(self, weights: Weights, images: Any, labels: bytes) -> Any:
        """The network written out, in float32."""
        return ArrayNetwork(self.cupy, weights, images, labels, self.numpy.float32)

    def round_trip(self, a: Any, b: Any) -> Callable[[], Any]:
        """From NumPy's arrays to NumPy's array."""
        cupy = self.cupy
        return lambda: cupy.asnumpy(cupy.matmul(cupy.asarray(a), cupy.asarray(b)))

    def operations(self) -> dict[str, Callable[[], Any]]:
        """On CuPy's arrays."""
        return operations(self.cupy, self.host)

    def transfer(self, size: int, pinned: bool) -> Transfer:
        """Raw copies."""
        from .cupy_copies import CupyCopies

        return CupyCopies(self, size, pinned)

    def overlap(self, size: int) -> Overlap:
        """Copies on two streams, products on a third."""
        from .cupy_copies import CupyOverlap

        return CupyOverlap(self, size)

    def vectors(self, elements: int) -> Vectors:
        """Vectors, and one kernel for the triad."""
        from .cupy_kernels import CupyVectors

        return CupyVectors(self, elements)

    def fused(self, elements: int) -> list[Fused]:
        """A kernel written by hand, and one that `cupy.fuse` makes."""
        from .cupy_kernels import ways

        return ways(self, elements)

    def peers(self) -> int:
        """As many as the driver shows, or fewer where the task says so."""
        return min(self._count(), int(self.task.get("devices") or self._count()))

    def peer(self, source: int, target: int, size: int) -> Peer:
        """Copies from GPU to GPU."""
        from .cupy_devices import Between

        return Between(self, source, target, size)

    def allreduce(self, size: int, pause: Callable[[], None]) -> dict[str, Any]:
        """By NCCL, or RCCL, from this one process."""
        from .cupy_devices import summed

        return summed(self, size, pause)
