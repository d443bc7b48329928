"""JAX on NVIDIA's and AMD's GPUs, and on the CPU; every call waits for nothing until `synchronize`."""

from __future__ import annotations

import importlib
from contextlib import contextmanager

from ...host_math import NumpyHost
from ...runner import Unsupported
from .. import xla
from ..base import Base
from ..chip import DeviceInfo
from ..cpu import processor, threads
from . import platform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ...weights import Batch, Weights
    from ..base import Fused, Network, Overlap, Peer, Transfer, Vectors
    from .network import Programs

TYPES = {
    "fp32": "float32",
    "tf32": "float32",
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp8": "float8_e4m3fn",
}
RESULTS = dict(TYPES, fp8="bfloat16")
BITS = {1: "uint8", 2: "uint16", 4: "uint32"}  # unsigned integers of so many bytes


class JaxBackend(Base):
    """JAX on one device.

    Attributes:
        jax, jnp: the modules.
        device: the device under test.
        chip: what the driver says of it.
        capability: its compute capability; None where it has none.
    """

    name = "JAX"
    batch_seconds = 0.1

    def __init__(self, task: dict[str, Any]) -> None:
        super().__init__(task)
        self.kind = task.get("kind", "cpu")
        if self.kind == "cpu" and not {"allreduce", "data-parallel"}.isdisjoint(task.get("tests", ())):
            platform.split_cpu()
        self.jax: Any = importlib.import_module("jax")
        self.jnp: Any = importlib.import_module("jax.numpy")
        self.host = NumpyHost()
        self.numpy = self.host.module
        self.version = str(self.jax.__version__)
        self.device: Any = None
        self.chip = DeviceInfo("cpu", 0)
        self.capability: tuple[int, int] | None = None
        self._last: Any = None
        self._products: dict[str, Any] = {}  # compiled, by data type
        self._unequal: Any = None
        self._programs: Programs | None = None
        self._lacks: dict[str, str] = {}

    # -- the device --------------------------------------------------------------------------------------

    def start(self) -> dict[str, Any]:
        """Start the platform that was asked for, and no other.

        Raises:
            Unsupported: JAX sees no such device; in its own words.
        """
        index = int(self.task.get("device") or 0)
        platform.configure(self.jax, self.kind)
        found = platform.devices(self.jax, self.kind)
        if index >= len(found):
            raise Unsupported("JAX sees %d devices, but no device %d." % (len(found), index))
        self.device = found[index]
        if self.kind != "cpu":
            self.kind = "rocm" if platform.is_amds(self.device) else "cuda"
        self.chip = DeviceInfo(self.kind, index)
        self.cache, self.capability = self.chip.cache(), platform.capability(self.device)
        self.put(self.numpy.zeros(1, self.numpy.float32)).block_until_ready()
        return self._about()

    def group(self) -> list[Any]:
        """The devices that the tests between them may use."""
        found = platform.devices(self.jax, self.kind)
        return found if self.kind == "cpu" else found[: int(self.task.get("devices") or len(found))]

    def _about(self) -> dict[str, Any]:
        about = {"kind": self.kind, "memory_free": self.free(), "threads": threads()}
        if self.kind == "cpu":
            return dict(about, name=processor())
        counted = getattr(self.device, "core_count", None)
        processors = int(counted) if counted else self.chip.processors()
        engines = self.chip.copy_engines()
        return dict(about, name=self.device.device_kind, processors=processors, copy_engines=engines)

    def free(self) -> int:
        """What the driver and XLA's allocator have left."""
        return platform.free(self.device, self.kind, self.chip, self.task.get("memory_free"))

    def put(self, values: Any, device: Any = None) -> Any:
        """A NumPy array on the device under test, or on another."""
        return self.jax.device_put(values, self.device if device is None else device)

    def queued(self, result: Any) -> Any:
        """Note what `synchronize` has to wait for: a device works in the order of the calls, so the last is enough."""
        self._last = result
        return result

    def synchronize(self) -> None:
        """Wait for the last result."""
        if self._last is not None:
            self.jax.block_until_ready(self._last)

    def release(self) -> None:
        """Drop the last result, whose error would come again."""
        self._last = None

    def kind_of(self, error: BaseException) -> str:
        """By XLA's words."""
        return xla.kind_of(error)

    # -- matmul, stress ----------------------------------------------------------------------------------

    @contextmanager
    def precision(self, dtype: str) -> Iterator[None]:
        """Nothing is switched: each product and each convolution is compiled with its precision."""
        self.require(dtype)
        yield

    def require(self, dtype: str) -> None:
        """Refuse a data type that this device does not compute in.

        Raises:
            Unsupported: it does not.
        """
        if dtype not in self._lacks:
            self._lacks[dtype] = xla.lacks(self, self.capability, dtype)
        if self._lacks[dtype]:
            raise Unsupported(self._lacks[dtype])

    def strictness(self, dtype: str) -> Any:
        """XLA's precision: HIGHEST is float32 proper, DEFAULT lets NVIDIA's GPUs use TF32."""
        return self.jax.lax.Precision.HIGHEST if dtype == "fp32" else self.jax.lax.Precision.DEFAULT

    def operand(self, values: Any, dtype: str, side: str = "a") -> tuple[Any, Any]:
        """The right operand of fp8 is transposed, as cuBLASLt wants it; XLA would do it at each product."""
        rounded = values.astype(self.numpy.dtype(getattr(self.jnp, TYPES[dtype])))
        exact = rounded.astype(self.numpy.float64)
        if dtype == "fp8" and side == "b":
            rounded = self.numpy.ascontiguousarray(rounded.T)
        return self.put(rounded), exact

    def multiply(self, a: Any, b: Any, dtype: str) -> Callable[[], Any]:
        """A compiled product; XLA makes an array for each result."""
        if dtype not in self._products:
            self._products[dtype] = self.jax.jit(self._product(dtype))
        product = self._products[dtype]
        return lambda: self.queued(product(a, b))

    def _product(self, dtype: str) -> Callable[[Any, Any], Any]:
        lax, result = self.jax.lax, getattr(self.jnp, RESULTS[dtype])
        summed = (((1,), (1 if dtype == "fp8" else 0,)), ((), ()))
        strict = self.strictness(dtype)
        return lambda a, b: lax.dot_general(a, b, summed, precision=strict, preferred_element_type=result)

    def values(self, array: Any) -> Any:
        """In float64."""
        return self.numpy.asarray(array).astype(self.numpy.float64)

    def unequal(self, one: Any, other: Any) -> int:
        """Counted by a compiled function."""
        if self._unequal is None:
            self._unequal = self.jax.jit(self._differing)
        return int(self._unequal(one, other))

    def _differing(self, one: Any, other: Any) -> Any:
        bits, cast = getattr(self.jnp, BITS[one.dtype.itemsize]), self.jax.lax.bitcast_convert_type
        return self.jnp.sum((cast(one, bits) != cast(other, bits)) | self.jnp.isnan(one))

    # -- what has rooms of its own -------------------------------------------------------------------------

    def network(self, weights: Weights, images: Any, labels: bytes) -> Network:
        """Convolutions of jax.lax."""
        from .network import JaxNetwork

        return JaxNetwork(self, weights, images, labels)

    def programs(self) -> Programs:
        """What the networks of all tests have in common."""
        if self._programs is None:
            from .network import Programs

            self._programs = Programs(self)
        return self._programs

    def round_trip(self, a: Any, b: Any) -> Callable[[], Any]:
        """From NumPy's arrays to NumPy's array."""
        return lambda: self.numpy.asarray(self.multiply(self.put(a), self.put(b), "fp32")())

    def transfer(self, size: int, pinned: bool) -> Transfer:
        """Copies by jax.device_put, of pinned memory between memory kinds.

        Raises:
            Unsupported: this JAX has no pinned memory.
            MemoryError: so much cannot be pinned.
        """
        from .transfer import transfer

        return transfer(self, size, pinned)

    def overlap(self, size: int) -> Overlap:
        """XLA orders copies and kernels itself."""
        raise Unsupported("JAX does not expose streams: XLA schedules copies and kernels itself.")

    def vectors(self, elements: int) -> Vectors:
        """Compiled functions over vectors."""
        from .vectors import JaxVectors

        return JaxVectors(self, elements)

    def fused(self, elements: int) -> list[Fused]:
        """By jax.jit."""
        from .vectors import JaxFused

        return [JaxFused(self, elements)]

    def peers(self) -> int:
        """The GPUs that JAX sees and the task permits."""
        if self.kind == "cpu":
            raise Unsupported("Copies between GPUs need two, and this is the CPU.")
        return len(self.group())

    def peer(self, source: int, target: int, size: int) -> Peer:
        """By jax.device_put."""
        from .devices import JaxPeer

        return JaxPeer(self, source, target, size)

    def allreduce(self, size: int, pause: Callable[[], None]) -> dict[str, Any]:
        """By jax.lax.psum over all devices."""
        from .devices import allreduce

        return allreduce(self, size, pause)

    def data_parallel(
        self, batch: Batch, count: int, rate: float, timed: int, pause: Callable[[], None]
    ) -> dict[str, Any]:
        """By jax.sharding.NamedSharding over a mesh of the devices."""
        from .parallel import data_parallel

        return data_parallel(self, batch, count, rate, timed, pause)
