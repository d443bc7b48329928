"""What the tests ask of a backend; a backend answers Unsupported, with a sentence, to what it cannot do.

"Host array" is a CPU array of the backend's `host` (NumPy's, or PyTorch's where NumPy is missing); tests use of it only
what both have: arithmetic, `@`, slicing, reshape, sum, max, tolist. "Array" is whatever the backend has on its device.
"""

from __future__ import annotations

import time
from contextlib import contextmanager

from ..runner import Unsupported
from .errors import kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from ..host_math import NumpyHost
    from ..weights import Batch, Weights
    from .loading import Loading

# Bytes of one element of an operand and of a result.
OPERAND_BYTES = {"fp64": 8, "fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "fp8": 1}
# Rows of the products next to a copy (`overlap`), in float32: 0.4 ms on a large GPU, so that queueing them, some 20 us
# each, hides behind them, and short enough to choose their number by the copy's length.
BESIDE = 2048
RESULT_BYTES = {"fp64": 8, "fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "fp8": 2}


class Base:
    """A backend on one device; made with the task, which imports the framework.

    Attributes:
        name: for people.
        kind: of the device: cuda, rocm, cpu; known from `start` on.
        version: of the framework; None: it has none.
        host: arithmetic on the CPU.
        batch_seconds: how long a timed batch should last: 0.02 where the device has a clock of its own, 0.1 where
            the host's clock around a synchronised batch has to do, so that 50 us of synchronising do not count.
        cache: bytes of the device's level-2 cache; None: nobody says.
    """

    name = ""
    kind = "cpu"
    version: str | None = None
    host: NumpyHost
    batch_seconds = 0.02
    cache: int | None = None

    def __init__(self, task: dict[str, Any]) -> None:
        self.task = task

    # -- the device --------------------------------------------------------------------------------------

    def start(self) -> dict[str, Any]:
        """Take the device and make its context; return what gpudoctor.facts.SmokeRun wants to know of it.

        The keys: kind, name, CPUs, copy_engines, memory_free, threads; None or missing where unknown.

        Raises:
            Unsupported: the framework reaches no such device; in the framework's own words.
        """
        raise NotImplementedError

    def free(self) -> int:
        """The bytes that are free on the device; on the CPU those of the machine."""
        raise NotImplementedError

    def synchronize(self) -> None:
        """Wait until the device has done all that was queued."""

    def release(self) -> None:
        """Give back what an allocator keeps, after an error."""

    def close(self) -> None:
        """Leave the device tidily."""

    def kind_of(self, error: BaseException) -> str:
        """What an error is: "out-of-memory", "device-error" (the context is dead), "other"."""
        return kind_of(error)

    def elapsed(self, call: Callable[[], Any], times: int) -> float:
        """The seconds of one of `times` calls queued together."""
        self.synchronize()
        begun = time.perf_counter()
        for _ in range(times):
            call()
        self.synchronize()
        return (time.perf_counter() - begun) / times

    # -- matmul, stress ----------------------------------------------------------------------------------

    def dtypes(self) -> tuple[str, ...]:
        """The data types that `matmul` tries, of fp32, tf32, fp16, bf16, fp8."""
        return ("fp32", "tf32", "fp16", "bf16", "fp8")

    @contextmanager
    def precision(self, dtype: str) -> Iterator[None]:
        """What decides whether TF32 may be used, set for this data type and put back afterwards.

        fp32 means: TF32 is off, for products and for convolutions.

        Raises:
            Unsupported: this device or framework has no such type.
        """
        if dtype not in self.dtypes():
            raise Unsupported("%s has no matmul in %s." % (self.name, dtype))
        yield

    def operand(self, values: Any, dtype: str, side: str = "a") -> tuple[Any, Any]:
        """A square host array (float32) on the device, rounded to a data type; and its rounded values in float64.

        Args:
            values: float32 host array, N x N.
            dtype: the data type.
            side: "a" or "b", for types that want their right operand laid out otherwise.
        """
        raise NotImplementedError

    def multiply(self, a: Any, b: Any, dtype: str) -> Callable[[], Any]:
        """What queues the product and returns its array.

        Each result of this method writes into an array of its own, filled with NaN before, where the framework
        can write into a given array. Accumulation is in float32, the result in fp32 for fp32 and tf32, in bf16 for
        fp8, else in the operands' type.
        """
        raise NotImplementedError

    def values(self, array: Any) -> Any:
        """A device array as float64 host array; a slice of it is copied alone."""
        raise NotImplementedError

    def unequal(self, one: Any, other: Any) -> int:
        """How many elements of two device arrays differ, bit for bit; counted on the device. NaN differs from all."""
        raise NotImplementedError

    # -- mnist, mixed-precision, inference -----------------------------------------------------------------

    def network(self, weights: Weights, images: Any, labels: bytes) -> Network:
        """The network on the device with these weights and this batch.

        Args:
            weights: of a CNN or of two layers.
            images: 28 x 28 grey levels each, as bytes; or for two layers a float32 host array, a row a sample.
            labels: a byte each.
        """
        raise Unsupported("%s has no training step." % self.name)

    def reference(self, weights: Weights, images: bytes, labels: bytes) -> tuple[float, list[Any]]:
        """Loss, and the gradient of each parameter, in float64 on the CPU."""
        from ..network import reference

        return reference(self.host, weights, images, labels)

    # -- transfer, overlap, bandwidth, fused, peer, allreduce -----------------------------------------------

    def transfer(self, size: int, pinned: bool) -> Transfer:
        """A host buffer of `size` bytes, pageable or pinned, a device buffer, and copies between them.

        Raises:
            Unsupported: it has no pinned memory, or no way to say which host memory is used.
            MemoryError: so much cannot be pinned.
        """
        raise Unsupported("%s has no copies of its own." % self.name)

    def overlap(self, size: int) -> Overlap:
        """Copies of a pinned buffer of `size` bytes on one stream, products on another."""
        raise Unsupported("%s does not expose streams." % self.name)

    def vectors(self, elements: int) -> Vectors:
        """Vectors of float32 on the device, for the memory's bandwidth."""
        raise Unsupported("%s has no such vectors." % self.name)

    def fused(self, elements: int) -> list[Fused]:
        """The ways in which this framework compiles `gelu(a * x + b) + c` over float32 into one kernel."""
        raise Unsupported("%s compiles no kernels." % self.name)

    def round_trip(self, a: Any, b: Any) -> Callable[[], Any]:
        """What copies two float32 host arrays to the device, multiplies them in fp32, and copies the product back."""
        raise Unsupported("%s copies nothing: its arrays are the host's." % self.name)

    def operations(self) -> dict[str, Callable[[], Any]]:
        """What queues usual operations on arrays of NumPy's kind, by name; empty where it has none."""
        return {}

    def loading(self) -> Loading | None:
        """Batches from the framework's data loader into a training step; None where it has no such loader."""
        return None

    def peers(self) -> int:
        """How many devices of this kind the backend sees, for `peer` and `allreduce`."""
        raise Unsupported("%s does not copy between devices." % self.name)

    def peer(self, source: int, target: int, size: int) -> Peer:
        """Copies of `size` bytes from one device to another."""
        raise Unsupported("%s does not copy between devices." % self.name)

    def allreduce(self, size: int, pause: Callable[[], None]) -> dict[str, Any]:
        """Sums over all devices: exactness, and seconds of a sum of `size` bytes of float32.

        Returns:
            ranks; transport ("nccl", "rccl", "gloo", "xla"); wrong (elements whose sum is wrong, float32 and bf16
            together; rank r brings r + 1, so each sum is n (n + 1) / 2); seconds (a list, the slowest rank of each of
            ten sums after three that do not count); bytes.
        """
        raise Unsupported("%s has no collective operations." % self.name)

    def data_parallel(
        self, batch: Batch, count: int, rate: float, timed: int, pause: Callable[[], None]
    ) -> dict[str, Any]:
        """One training step of a batch that is split over `count` devices, whose gradients the framework averages.

        Args:
            batch: the first weights, and images and labels that `count` divides.
            count: devices, each with a replica of the network.
            rate: of the step.
            timed: images of each device in the steps that are timed afterwards; 0: none is timed.
            pause: called while it waits; what it raises ends everything.

        Returns:
            transport, as of `allreduce`, or "host memory"; gradients (of each replica: averaged, as received) and
            weights (of each replica, after the step) as float64 host arrays; seconds (of each timed step, the slowest
            replica).

        Raises:
            Hung: replicas wait for one that does not arrive.
        """
        raise Unsupported("%s has no data-parallel training." % self.name)


Backend = Base  # under this name each backend's file has its own


class Network:
    """A classifier of digits on the device, with its batch; cross-entropy averaged over the batch, plain SGD."""

    names: Sequence[str] = ()  # of the parameters, in the order of the weights

    def gradients(self, precision: str = "fp32", scale: float = 1.0) -> tuple[float, list[Any]]:
        """Loss and gradients (float64 host arrays, unscaled) of the whole batch with the present weights.

        Args:
            precision: fp32 (TF32 off, deterministic), bf16 or fp16 (autocast; the gradients stay float32).
            scale: what the loss is multiplied with before the backward pass.

        Raises:
            Unsupported: there is no such precision here.
        """
        raise NotImplementedError

    def update(self, rate: float) -> None:
        """Take the step: every weight minus `rate` times its gradient of the last `gradients` call, on the device."""
        raise NotImplementedError

    def weights(self) -> list[Any]:
        """The present weights as float64 host arrays."""
        raise NotImplementedError

    def loss(self) -> float:
        """The loss of the whole batch with the present weights."""
        raise NotImplementedError

    def train(self, batch: int, rate: float, step: int) -> Callable[[], None]:
        """What queues one whole training step on images `step * batch` to `(step + 1) * batch`, modulo their number."""
        raise NotImplementedError

    def predict(self, batch: int, precision: str = "fp32") -> Callable[[], Any]:
        """What queues a forward pass of the first `batch` images and returns the logits' device array."""
        raise NotImplementedError

    def predict_on_cpu(self, batch: int) -> Callable[[], Any]:
        """The same in float32 on the CPU, with the same framework; returns a host array.

        Raises:
            Unsupported: the framework does not run on the CPU.
        """
        raise Unsupported("This framework does not run on the CPU.")


class Transfer:
    """A host and a device buffer of equal size."""

    size = 0
    pinned: bool | None = None  # whether the host buffer is page-locked, as the driver says; None: nobody can say

    def fill(self, seed: int) -> None:
        """Fill the host buffer with random bytes, and touch every page."""
        raise NotImplementedError

    def to_device(self) -> None:
        """Queue the copy of the host buffer to the device."""
        raise NotImplementedError

    def to_host(self) -> None:
        """Queue the copy of the device buffer into a second host buffer of the same kind."""
        raise NotImplementedError

    def clear(self) -> None:
        """Fill the second host buffer and the device's with zeros, so that a lost copy shows."""
        raise NotImplementedError

    def differing(self) -> int:
        """How many bytes of the two host buffers differ."""
        raise NotImplementedError

    def piece(self, offset: int, length: int) -> int:
        """Copy a piece there and back, through offsets of any alignment; how many bytes came back wrong."""
        raise NotImplementedError


class Overlap:
    """Copies on one stream next to products on another; the calls queue, `wait` waits for both streams."""

    engines: int | None = None  # copy engines, as the device says

    def copy(self) -> None:
        """Queue one copy of the buffer to the device, on the copying stream."""
        raise NotImplementedError

    def copy_back(self) -> None:
        """Queue one copy of another buffer to the host, on a third stream."""
        raise NotImplementedError

    def compute(self, times: int) -> None:
        """Queue so many products on the computing stream."""
        raise NotImplementedError

    def wait(self) -> None:
        """Wait for all streams."""
        raise NotImplementedError

    def ordered(self) -> int:
        """Copy, then compute on the copied data on the other stream after an event; elements that are wrong."""
        raise NotImplementedError


class Vectors:
    """Three vectors x, y, z of float32 that hold small integers, so that sums and products are exact."""

    triad_bytes = 3  # vectors read or written by `triad`; `copy` makes 2, `read` 1

    def copy(self) -> None:
        """Queue y = x."""
        raise NotImplementedError

    def triad(self) -> None:
        """Queue z = x + 3 y, into an array that exists where the framework can."""
        raise NotImplementedError

    def read(self) -> None:
        """Queue the sum of x."""
        raise NotImplementedError

    def wrong(self) -> int:
        """How many elements of y and z are wrong after `copy` and `triad`, counted on the device."""
        raise NotImplementedError


class Fused:
    """One compiled form of an elementwise function, next to the framework's own operations one by one."""

    way = ""  # "torch.compile", "Triton", "XLA", "ElementwiseKernel", "fuse"
    compile_seconds = 0.0

    def compile(self) -> None:
        """Compile, and run once; the framework's own words where that fails."""
        raise NotImplementedError

    def fused(self) -> None:
        """Queue the compiled kernel."""
        raise NotImplementedError

    def eager(self) -> None:
        """Queue the operations one by one."""
        raise NotImplementedError

    def error(self) -> float:
        """The largest relative difference from float64 on the CPU, over a sample of the elements."""
        raise NotImplementedError


class Peer:
    """Copies between two devices."""

    can_access: bool | None = None  # whether the driver permits direct access

    def copy(self) -> None:
        """Queue the copy."""
        raise NotImplementedError

    def wait(self) -> None:
        """Wait for it."""
        raise NotImplementedError

    def differing(self) -> int:
        """How many bytes arrived wrong, of a pattern that is compared on the target."""
        raise NotImplementedError
