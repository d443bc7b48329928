"""NVIDIA's driver by itself, through libcuda: what works here needs no CUDA toolkit and no framework.

What fails here fails in every framework; what works here and fails there is the framework's.
"""

from __future__ import annotations

from contextlib import contextmanager

from ..cuda.arrays import NAN, Array, counted, product
from ..cuda.copies import CudaCopies, Streams
from ..cuda.device import CACHE, COPY_ENGINES, PROCESSORS, CudaContext
from ..cuda.library import DEAD, OUT_OF_MEMORY, CudaError, CudaLibrary
from ..cuda.network import DeviceNetwork
from ..cuda.peers import DevicePeer
from ..cuda.vectors import CudaVectors
from ..host_math import NumpyHost
from ..runner import Unsupported
from .base import Base
from .cpu import threads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ..weights import Weights
    from .base import Network, Overlap, Peer, Transfer, Vectors


class DriverBackend(Base):
    """libcuda on one GPU."""

    name = "The bare driver"
    layers = "mlp"  # convolutions are a library's work

    def __init__(self, task: dict[str, Any]) -> None:
        super().__init__(task)
        if task.get("kind") == "cpu":
            raise Unsupported("The bare driver computes on GPUs only.")
        if task.get("tests"):  # without any, a context is opened and closed, in a Python that may lack NumPy
            self.host = NumpyHost()
            self._numpy = self.host.module
        self._cuda = CudaLibrary()
        self._devices: dict[int, CudaContext] = {}

    # -- the device --------------------------------------------------------------------------------------

    def start(self) -> dict[str, Any]:
        """Initialise libcuda and take the device's primary context."""
        try:
            self._cuda.call("cuInit", 0)
        except CudaError as error:
            raise Unsupported("The NVIDIA driver does not start: %s." % error) from None
        self._device = self._taken(int(self.task.get("device", 0)))
        self.kind = "cuda"
        self._processors = self._device.attribute(PROCESSORS)
        self._engines = self._device.attribute(COPY_ENGINES)
        self.cache = self._device.attribute(CACHE) or None
        return {
            "kind": self.kind,
            "name": self._device.name(),
            "processors": self._processors,
            "copy_engines": self._engines,
            "memory_free": self.free(),
            "threads": threads(),
        }

    def _taken(self, ordinal: int) -> CudaContext:
        if ordinal not in self._devices:
            self._devices[ordinal] = CudaContext(self._cuda, ordinal)
        return self._devices[ordinal]

    def free(self) -> int:
        """What the driver says is free."""
        return self._device.free()

    def synchronize(self) -> None:
        """Wait for all streams of the context."""
        self._device.wait()

    def close(self) -> None:
        """Give back all contexts."""
        for device in self._devices.values():
            device.make_current()
            device.close()

    def kind_of(self, error: BaseException) -> str:
        """By the CUresult where there is one."""
        if isinstance(error, CudaError):
            return "device-error" if error.code in DEAD else "out-of-memory" if error.code == OUT_OF_MEMORY else "other"
        return super().kind_of(error)

    def elapsed(self, call: Callable[[], Any], times: int) -> float:
        """By the device's clock."""
        return self._device.elapsed(call, times)

    # -- products ----------------------------------------------------------------------------------------

    def dtypes(self) -> tuple[str, ...]:
        """fp32; and what the user named, to say that it needs a framework."""
        named = self.task.get("dtypes") or ()
        return ("fp32", *(dtype for dtype in named if dtype != "fp32"))

    @contextmanager
    def precision(self, dtype: str) -> Iterator[None]:
        """fp32 alone; its kernel uses no tensor cores."""
        if dtype != "fp32":
            raise Unsupported("The bare driver computes in fp32 only: %s needs a framework." % dtype)
        yield

    def operand(self, values: Any, dtype: str, side: str = "a") -> tuple[Any, Any]:
        """The array on the device."""
        return Array(self._device, self._numpy, values.shape, values), values.astype("float64")

    def multiply(self, a: Any, b: Any, dtype: str) -> Callable[[], Any]:
        """Our own kernel."""
        out = Array(self._device, self._numpy, (a.shape[0], b.shape[1]))
        out.fill(NAN)
        queue = product(a, b, out)

        def call() -> Array:
            queue()
            return out

        return call

    def values(self, array: Any) -> Any:
        """In float64 on the host."""
        return array.host().astype("float64")

    def unequal(self, one: Any, other: Any) -> int:
        """Counted by our own kernel."""
        return counted(self._device, self._numpy, "unequal", one.elements, one, other)

    # -- the other tests ---------------------------------------------------------------------------------

    def network(self, weights: Weights, images: Any, labels: bytes) -> Network:
        """Two layers, in our own kernels."""
        return DeviceNetwork(self._device, self._numpy, weights, images, labels)

    def round_trip(self, a: Any, b: Any) -> Callable[[], Any]:
        """New arrays on the device each time, as a program without care would have them."""

        def call() -> Any:
            left, right, out = (Array(self._device, self._numpy, a.shape, v) for v in (a, b, None))
            product(left, right, out)()
            return out.host()

        return call

    def transfer(self, size: int, pinned: bool) -> Transfer:
        """Copies by the driver."""
        return CudaCopies(self._device, self._numpy, size, pinned)

    def overlap(self, size: int) -> Overlap:
        """Three streams."""
        return Streams(self._device, self._numpy, size, self._processors, self._engines)

    def vectors(self, elements: int) -> Vectors:
        """Our own kernels."""
        return CudaVectors(self._device, self._numpy, elements)

    def fused(self, elements: int) -> Any:
        """None."""
        raise Unsupported("The bare driver compiles no expressions: that needs a framework.")

    def peers(self) -> int:
        """The devices that libcuda lists."""
        count: int = self._cuda.number("cuDeviceGetCount")
        return count

    def peer(self, source: int, target: int, size: int) -> Peer:
        """Copies by the driver, directly where it permits that."""
        pair = [self._taken(ordinal) for ordinal in (source, target)]
        self._device.make_current()
        return DevicePeer(pair[0], pair[1], self._device, self._numpy, size)

    def allreduce(self, size: int, pause: Callable[[], None]) -> dict[str, Any]:
        """None."""
        raise Unsupported("All-reduce needs NCCL, which comes with a framework.")
