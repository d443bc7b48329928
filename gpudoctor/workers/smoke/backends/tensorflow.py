"""TensorFlow on NVIDIA's and AMD's GPUs, and on the CPU; the network through Keras, the rest through tf.function."""

from __future__ import annotations

import importlib
import os
from contextlib import contextmanager

from ..host_math import NumpyHost
from ..memory import available
from ..runner import Unsupported
from . import xla
from .base import Base
from .chip import DeviceInfo
from .cpu import processor, threads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ..weights import Batch, Weights
    from .base import Fused, Network, Overlap, Peer, Transfer, Vectors

TYPES = {"fp32": "float32", "tf32": "float32", "fp16": "float16", "bf16": "bfloat16"}
BITS = {2: "uint16", 4: "uint32"}  # unsigned integers of so many bytes


class TensorflowBackend(Base):
    """TensorFlow on one device.

    Attributes:
        tf: the module.
        place: the device's name in TensorFlow, such as /GPU:0.
        chip: what the driver says of it.
    """

    name = "TensorFlow"
    batch_seconds = 0.1

    def __init__(self, task: dict[str, Any]) -> None:
        super().__init__(task)
        self.kind = task.get("kind", "cpu")
        os.environ["KERAS_BACKEND"] = (
            "tensorflow"  # Keras 3 would compute with JAX or PyTorch where its settings say so
        )
        self.tf: Any = importlib.import_module("tensorflow")
        self.host = NumpyHost()
        self.numpy = self.host.module
        self.version = str(self.tf.__version__)
        self.index = int(task.get("device") or 0)
        self.place = "/CPU:0" if self.kind == "cpu" else "/GPU:%d" % self.index
        self.chip = DeviceInfo("cpu", 0)
        self._details: dict[str, Any] = {}
        self._lacks: dict[str, str] = {}
        self._multiply = self.compiled(self.tf.matmul)
        self._count = self.compiled(self._differing)

    # -- the device --------------------------------------------------------------------------------------

    def start(self) -> dict[str, Any]:
        """Take the GPU without its whole memory, or hide all GPUs.

        Raises:
            Unsupported: TensorFlow lists no such GPU.
        """
        if self.kind == "cpu":
            self.tf.config.set_visible_devices([], "GPU")
            if "data-parallel" in self.task.get("tests", ()):
                from .tensorflow_parallel import split_cpu

                split_cpu(self.tf)
            return {"kind": "cpu", "name": processor(), "memory_free": self.free(), "threads": threads()}
        found = self._gpus()
        for gpu in found:
            self.tf.config.experimental.set_memory_growth(gpu, True)
        build = dict(self.tf.sysconfig.get_build_info())
        self.kind = "rocm" if build.get("is_rocm_build") else "cuda"
        self._details = self.tf.config.experimental.get_device_details(found[self.index])
        self.chip = DeviceInfo(self.kind, self.index)
        self.cache = self.chip.cache()
        self._take()
        return {
            "kind": self.kind,
            "name": self._details.get("device_name"),
            "processors": self.chip.processors(),
            "copy_engines": self.chip.copy_engines(),
            "memory_free": self.free(),
            "threads": threads(),
        }

    def _gpus(self) -> list[Any]:
        found = list(self.tf.config.list_physical_devices("GPU"))
        if not found and not self.tf.test.is_built_with_gpu_support():
            raise Unsupported("TensorFlow %s was built without support for GPUs." % self.version)
        if not found:
            raise Unsupported("tf.config.list_physical_devices('GPU') is empty; TensorFlow's log shows why.")
        if self.index >= len(found):
            raise Unsupported("TensorFlow lists %d GPUs, but no GPU %d." % (len(found), self.index))
        return found

    def _take(self) -> None:
        """Make the context, and see that work goes where it is sent: TensorFlow may place it on the CPU silently."""
        one = self.put(self.numpy.ones((1, 1), self.numpy.float32))
        found = self._multiply(one, one)
        self.synchronize()
        if "GPU" not in found.device:
            raise RuntimeError("TensorFlow used %s instead of %s" % (found.device, self.place))

    def free(self) -> int:
        """What the driver has left and what TensorFlow's allocator keeps unused."""
        if self.kind == "cpu":
            return available()
        used = self.tf.config.experimental.get_memory_info(self.place[1:])
        left = self.chip.free()
        if left is None:
            return max(0, int(self.task.get("memory_free") or xla.UNKNOWN_MEMORY) - int(used["current"]))
        return left + int(used["peak"]) - int(used["current"])

    def put(self, values: Any) -> Any:
        """A NumPy array on the device."""
        with self.tf.device(self.place):
            return self.tf.constant(values)

    def compiled(self, function: Callable[..., Any], place: str = "") -> Callable[..., Any]:
        """A tf.function whose operations run on the device under test, or on another, wherever its arguments are."""

        def placed(*arguments: Any) -> Any:
            with self.tf.device(place or self.place):
                return function(*arguments)

        found: Callable[..., Any] = self.tf.function(placed)
        return found

    def synchronize(self) -> None:
        """Wait for all devices."""
        self.tf.test.experimental.sync_devices()

    def kind_of(self, error: BaseException) -> str:
        """By TensorFlow's types and XLA's words."""
        return xla.kind_of(error)

    # -- matmul, stress ----------------------------------------------------------------------------------

    @contextmanager
    def precision(self, dtype: str) -> Iterator[None]:
        """Set whether TF32 may be used, which TensorFlow does unless told otherwise."""
        self.require(dtype)
        config = self.tf.config.experimental
        before = config.tensor_float_32_execution_enabled()
        config.enable_tensor_float_32_execution(dtype == "tf32")
        try:
            yield
        finally:
            config.enable_tensor_float_32_execution(before)

    def require(self, dtype: str) -> None:
        """Refuse a data type that this device or TensorFlow does not compute in.

        Raises:
            Unsupported: it does not.
        """
        if dtype not in self._lacks:
            capability = self._details.get("compute_capability")
            here = "" if dtype in TYPES or self.kind == "cpu" else "TensorFlow has no matmul in %s." % dtype
            self._lacks[dtype] = here or xla.lacks(self, capability and tuple(capability), dtype)
        if self._lacks[dtype]:
            raise Unsupported(self._lacks[dtype])

    def operand(self, values: Any, dtype: str, side: str = "a") -> tuple[Any, Any]:
        """Rounded on the CPU."""
        rounded = values.astype(getattr(self.tf, TYPES[dtype]).as_numpy_dtype)
        return self.put(rounded), rounded.astype(self.numpy.float64)

    def multiply(self, a: Any, b: Any, dtype: str) -> Callable[[], Any]:
        """tf.matmul in one tf.function; TensorFlow makes an array for each result, and adds 16-bit types in float32."""
        return lambda: self._multiply(a, b)

    def values(self, array: Any) -> Any:
        """In float64."""
        return array.numpy().astype(self.numpy.float64)

    def unequal(self, one: Any, other: Any) -> int:
        """Counted on the device."""
        return int(self._count(one, other))

    def _differing(self, one: Any, other: Any) -> Any:
        tf, bits = self.tf, BITS[one.dtype.size]
        differ = tf.bitcast(one, bits) != tf.bitcast(other, bits)
        return tf.reduce_sum(tf.cast(differ | tf.math.is_nan(one), tf.int64))

    # -- what has rooms of its own -------------------------------------------------------------------------

    def network(self, weights: Weights, images: Any, labels: bytes) -> Network:
        """Layers of Keras."""
        from .tensorflow_network import KerasNetwork

        return KerasNetwork(self, weights, images, labels)

    def round_trip(self, a: Any, b: Any) -> Callable[[], Any]:
        """From NumPy's arrays to NumPy's array."""
        return lambda: self._multiply(self.put(a), self.put(b)).numpy()

    def transfer(self, size: int, pinned: bool) -> Transfer:
        """Copies of tensors.

        Raises:
            Unsupported: pinned memory was asked for.
        """
        if pinned and self.kind == "cpu":
            raise Unsupported("Pinned memory is only for GPUs, and this is the CPU.")
        if pinned:
            raise Unsupported("TensorFlow has no public API for pinned memory.")
        from .tensorflow_memory import TensorTransfer

        return TensorTransfer(self, size)

    def overlap(self, size: int) -> Overlap:
        """TensorFlow chooses streams itself."""
        raise Unsupported("TensorFlow does not expose streams: it schedules copies and kernels itself.")

    def vectors(self, elements: int) -> Vectors:
        """Vectors in tensors."""
        from .tensorflow_memory import TensorVectors

        return TensorVectors(self, elements)

    def fused(self, elements: int) -> list[Fused]:
        """By tf.function(jit_compile=True)."""
        from .tensorflow_memory import TensorFused

        return [TensorFused(self, elements)]

    def peers(self) -> int:
        """The GPUs that TensorFlow lists and the task permits."""
        if self.kind == "cpu":
            raise Unsupported("Copies between GPUs need two, and this is the CPU.")
        seen = len(self._gpus())
        return min(seen, int(self.task.get("devices") or seen))

    def peer(self, source: int, target: int, size: int) -> Peer:
        """Copies of a tensor."""
        from .tensorflow_devices import TensorPeer

        return TensorPeer(self, source, target, size)

    def allreduce(self, size: int, pause: Callable[[], None]) -> dict[str, Any]:
        """By tf.distribute.MirroredStrategy over NCCL."""
        from .tensorflow_devices import allreduce

        return allreduce(self, size, pause)

    def data_parallel(
        self, batch: Batch, count: int, rate: float, timed: int, pause: Callable[[], None]
    ) -> dict[str, Any]:
        """By tf.distribute.MirroredStrategy."""
        from .tensorflow_parallel import data_parallel

        return data_parallel(self, batch, count, rate, timed, pause)
