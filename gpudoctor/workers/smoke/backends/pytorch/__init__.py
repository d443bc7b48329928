"""PyTorch: on NVIDIA's GPUs, on AMD's (whose builds answer under the same names, torch.cuda), and on the CPU."""

from __future__ import annotations

import ctypes
import importlib
from contextlib import contextmanager

from ...host_math import TorchHost, own_host
from ...memory import available
from ...runner import Unsupported
from ..base import Base, Fused, Network, Overlap, Peer, Transfer, Vectors
from ..cpu import processor
from ..errors import kind_of
from .precision import RESULTS, TYPES, lacks_on_cpu, lacks_on_gpu, switched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ...weights import Batch, Weights
    from ..loading import Loading

# cudaError_t and hipError_t after which nothing works in a process any more, under the same numbers in both
# (https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html): uncorrectable ECC and NVLink errors,
# illegal address, launch timeout, assert, hardware stack, illegal instruction, misaligned address, invalid address
# space and program counter, launch failure.
DEAD = {214, 220, 700, 702, 710, 714, 715, 716, 717, 718, 719}
COPY_ENGINES = 40  # CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT of cuda.h


class PytorchBackend(Base):
    """PyTorch."""

    name = "PyTorch"

    def __init__(self, task: dict[str, Any]) -> None:
        super().__init__(task)
        self.torch: Any = importlib.import_module("torch")
        self.version = str(self.torch.__version__)
        self.host = own_host(self.torch)
        if not isinstance(self.host, TorchHost) and not _reaches_numpy(self.torch):
            self.host = TorchHost(self.torch)
        self.device: Any = None
        self.engines: int | None = None
        self.capability: tuple[int, int] | None = None
        self._lacks: dict[str, str] = {}

    # -- the device --------------------------------------------------------------------------------------

    def start(self) -> dict[str, Any]:
        """Take the GPU, or the CPU where that is asked for."""
        if self.task.get("kind") == "cpu":
            return self._start_on_cpu()
        torch, index = self.torch, int(self.task.get("device") or 0)
        try:
            torch.cuda.init()
        except (AssertionError, RuntimeError) as error:
            if kind_of(error) != "other":
                raise
            raise Unsupported("PyTorch reaches no GPU: %s." % str(error).strip().rstrip(".")) from error
        self.kind = "rocm" if torch.version.hip else "cuda"
        self.device = torch.device("cuda", index)
        torch.cuda.set_device(self.device)
        torch.ones(1, device=self.device).add_(1).item()  # the context, and a kernel
        about = torch.cuda.get_device_properties(self.device)
        if self.kind == "cuda":  # AMD's Infinity Cache is no level-2 cache, but keeps what a bandwidth test reads
            self.capability, self.engines = (about.major, about.minor), copy_engines(index)
            self.cache = getattr(about, "L2_cache_size", None) or None
        return {
            "kind": self.kind,
            "name": about.name,
            "processors": about.multi_processor_count,
            "copy_engines": self.engines,
            "memory_free": self.free(),
            "threads": torch.get_num_threads(),
        }

    def _start_on_cpu(self) -> dict[str, Any]:
        self.kind, self.device, self.batch_seconds = "cpu", self.torch.device("cpu"), 0.1
        threads = self.torch.get_num_threads()
        return {"kind": "cpu", "name": processor(), "memory_free": self.free(), "threads": threads}

    def free(self) -> int:
        """What the driver calls free, once PyTorch's allocator has given back what it keeps unused."""
        if self.kind == "cpu":
            return available()
        self.torch.cuda.empty_cache()
        return int(self.torch.cuda.mem_get_info(self.device)[0])

    def synchronize(self) -> None:
        """Wait for the device."""
        if self.kind != "cpu":
            self.torch.cuda.synchronize(self.device)

    def release(self) -> None:
        """Give back the allocator's unused memory."""
        if self.kind != "cpu":
            self.torch.cuda.empty_cache()

    def close(self) -> None:
        """Wait, and give the memory back."""
        self.synchronize()
        self.release()

    def kind_of(self, error: BaseException) -> str:
        """By PyTorch's types and CUDA's numbers, in releases that have them, else by the words."""
        if isinstance(error, getattr(self.torch.cuda, "OutOfMemoryError", ())):
            return "out-of-memory"
        return "device-error" if getattr(error, "error_code", None) in DEAD else kind_of(error)

    def elapsed(self, call: Callable[[], Any], times: int) -> float:
        """By the GPU's own clock: two events around the calls."""
        if self.kind == "cpu":
            return super().elapsed(call, times)
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.synchronize()
        begin.record()
        for _ in range(times):
            call()
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end)) / 1000 / times

    # -- products ------------------------------------------------------------------------------------------

    def lacks(self, dtype: str) -> str:
        """Why there are no products in a data type here, as a sentence; empty where there are."""
        if dtype not in self._lacks:
            on_cpu = self.kind == "cpu"
            asked = lacks_on_cpu(self.torch, dtype) if on_cpu else lacks_on_gpu(self.torch, dtype, self.capability)
            self._lacks[dtype] = asked
        return self._lacks[dtype]

    @contextmanager
    def precision(self, dtype: str) -> Iterator[None]:
        """Set TF32, reduced precision and cuDNN's choice of algorithms, and put them back."""
        if self.lacks(dtype):
            raise Unsupported(self.lacks(dtype))
        with switched(self.torch, dtype):
            yield

    def operand(self, values: Any, dtype: str, side: str = "a") -> tuple[Any, Any]:
        """Rounded on the CPU and copied; the right operand of fp8 is laid out by columns, as cuBLASLt wants it."""
        rounded = self.torch.as_tensor(values).to(getattr(self.torch, TYPES[dtype]))
        there = rounded.to(self.device)
        if dtype == "fp8" and side == "b":
            there = there.view(self.torch.uint8).t().contiguous().view(rounded.dtype).t()
        return there, self.on_host(rounded)

    def multiply(self, a: Any, b: Any, dtype: str) -> Callable[[], Any]:
        """torch.mm, or torch._scaled_mm with scales of one for fp8, into an array that holds NaN before."""
        torch, result = self.torch, getattr(self.torch, RESULTS[dtype])
        out = torch.full((len(a), b.shape[1]), float("nan"), dtype=result, device=self.device)
        if dtype != "fp8":
            return lambda: torch.mm(a, b, out=out)
        one = torch.ones((), dtype=torch.float32, device=self.device)
        return lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=result, out=out)

    def values(self, array: Any) -> Any:
        """Copied, and only then made float64."""
        return self.on_host(array)

    def on_host(self, array: Any) -> Any:
        """A tensor of any device and type as float64 host array."""
        double = array.detach().cpu().double()
        return double if isinstance(self.host, TorchHost) else double.numpy()

    def unequal(self, one: Any, other: Any) -> int:
        """The bits compared as whole numbers; and NaN."""
        whole = {8: self.torch.int64, 4: self.torch.int32, 2: self.torch.int16, 1: self.torch.uint8}[one.element_size()]
        return int(((one.view(whole) != other.view(whole)) | (one != one)).sum())

    # -- further rooms -------------------------------------------------------------------------------------

    def network(self, weights: Weights, images: Any, labels: bytes) -> Network:
        """The network with PyTorch's own layers and backward pass."""
        from .network import Classifier

        return Classifier(self, weights, images, labels)

    def reference(self, weights: Weights, images: bytes, labels: bytes) -> tuple[float, list[Any]]:
        """The same network in float64 on the CPU."""
        from .network import reference

        return reference(self, weights, images, labels)

    def round_trip(self, a: Any, b: Any) -> Callable[[], Any]:
        """From pageable tensors of the host to one of the host."""
        left, right = self.torch.as_tensor(a), self.torch.as_tensor(b)
        return lambda: self.torch.mm(left.to(self.device), right.to(self.device)).cpu()

    def loading(self) -> Loading:
        """Its DataLoader."""
        from .loading import PictureLoading

        return PictureLoading(self)

    def transfer(self, size: int, pinned: bool) -> Transfer:
        """Copies between buffers."""
        from .copies import PytorchCopies

        return PytorchCopies(self, size, pinned)

    def overlap(self, size: int) -> Overlap:
        """Copies next to products, on streams of their own."""
        from .copies import PytorchOverlap

        return PytorchOverlap(self, size)

    def vectors(self, elements: int) -> Vectors:
        """Vectors on the device."""
        from .vectors import Triple

        return Triple(self, elements)

    def fused(self, elements: int) -> list[Fused]:
        """A Triton kernel written by hand, and what torch.compile makes."""
        from .fused import ways

        return ways(self, elements)

    def peers(self) -> int:
        """The GPUs that PyTorch sees and the task permits."""
        if self.kind == "cpu":
            raise Unsupported("Copies between GPUs need two, and this is the CPU.")
        seen = int(self.torch.cuda.device_count())
        return min(seen, int(self.task.get("devices") or seen))

    def peer(self, source: int, target: int, size: int) -> Peer:
        """Copies from GPU to GPU."""
        from .peers import PeerBuffers

        return PeerBuffers(self.torch, source, target, size)

    def allreduce(self, size: int, pause: Callable[[], None]) -> dict[str, Any]:
        """Sums over all GPUs by NCCL or RCCL; on the CPU over two processes by Gloo."""
        from .ranks import allreduce

        return allreduce(self, size, pause)

    def data_parallel(
        self, batch: Batch, count: int, rate: float, timed: int, pause: Callable[[], None]
    ) -> dict[str, Any]:
        """By torch.nn.parallel.DistributedDataParallel, a process for each device."""
        from .ddp import data_parallel

        return data_parallel(self, batch, count, rate, timed, pause)


def _reaches_numpy(torch: Any) -> bool:
    """Whether this build and this NumPy understand one another: a PyTorch made for NumPy 1 does not reach NumPy 2."""
    try:
        torch.ones(1, device="cpu").numpy()
    except RuntimeError:
        return False
    return True


def copy_engines(index: int) -> int | None:
    """How many copies the GPU makes at once, as the driver says; None where it cannot be asked."""
    for name in ("libcuda.so.1", "nvcuda.dll"):
        try:
            driver = ctypes.CDLL(name)
        except OSError:
            continue
        device, count = ctypes.c_int(), ctypes.c_int()
        if driver.cuDeviceGet(ctypes.byref(device), index):
            return None
        return None if driver.cuDeviceGetAttribute(ctypes.byref(count), COPY_ENGINES, device) else count.value
    return None
