"""`gelu(a * x + b) + c` as one kernel: written by hand in Triton, and made by torch.compile."""

from __future__ import annotations

import importlib
import importlib.util
import math
import os
import tempfile
import time

from ...runner import Unsupported
from ..base import Fused
from .precision import release

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import PytorchBackend

A, B, C = 1.5, 0.5, 1.0  # with them no value lies near zero: gelu is never below -0.17
TRITON = (2, 1)  # the PyTorch that came with the first Triton that has its error function under today's name
SAMPLE = 4096  # elements that are compared with float64


def ways(backend: PytorchBackend, elements: int) -> list[Fused]:
    """Those that this PyTorch has on this device."""
    found: list[Fused] = []
    if not hasattr(backend.torch, "compile"):
        raise Unsupported("PyTorch has torch.compile from 2.0 on, and this is %s." % backend.version)
    _keep_caches_at_home()
    x = _drawn(backend, elements)
    if backend.kind != "cpu" and release(backend.torch) >= TRITON and importlib.util.find_spec("triton"):
        found.append(TritonKernel(backend, x))
    return [*found, Compiled(backend, x)]


def _drawn(backend: PytorchBackend, elements: int) -> Any:
    """Numbers of the normal distribution."""
    generator = backend.torch.Generator(backend.device).manual_seed(7)
    return backend.torch.randn(elements, generator=generator, device=backend.device)


def _keep_caches_at_home() -> None:
    """Compile in this process, and leave what is compiled in its home, which is a temporary folder.

    Otherwise Inductor and Triton would write into /tmp or wherever the user's variables say, where the next run would
    find it. Compiling the C++ headers in advance takes longer than the one kernel that they serve here.
    """
    home = os.path.join(os.path.expanduser("~"), ".cache", "gpudoctor")
    os.makedirs(home, exist_ok=True)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(home, "inductor")
    os.environ["TRITON_CACHE_DIR"] = os.path.join(home, "triton")
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    os.environ["TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS"] = "0"
    os.environ["TMPDIR"] = tempfile.tempdir = home


class Compiled(Fused):
    """By torch.compile: TorchDynamo and Inductor, with Triton on a GPU and a C++ compiler on the CPU."""

    way = "torch.compile"

    def __init__(self, backend: PytorchBackend, x: Any) -> None:
        torch = backend.torch
        self.backend, self.x, self.y = backend, x, x
        self._formula: Any = lambda x: torch.nn.functional.gelu(A * x + B) + C

    def compile(self) -> None:
        """The first call."""
        begun = time.monotonic()
        self._kernel: Any = self.backend.torch.compile(self._formula, fullgraph=True, dynamic=False)
        self.fused()
        self.backend.synchronize()
        self.compile_seconds = time.monotonic() - begun

    def fused(self) -> None:
        """Into memory of the allocator."""
        self.y = self._kernel(self.x)

    def eager(self) -> None:
        """Four kernels."""
        self._formula(self.x)

    def error(self) -> float:
        """At places an odd number apart, so that every lane of a warp is seen."""
        step = max(1, len(self.x) // SAMPLE) | 1
        pairs = zip(*(array[::step].cpu().double().tolist() for array in (self.x, self.y)))
        return worst(pairs)


class TritonKernel(Compiled):
    """By a Triton kernel."""

    way = "Triton"

    def compile(self) -> None:
        """Import Triton, and start the kernel once."""
        begun = time.monotonic()
        self._kernel: Any = importlib.import_module(".triton_kernel", __package__).launched
        self.y = self.backend.torch.full_like(self.x, float("nan"))
        self.fused()
        self.backend.synchronize()
        self.compile_seconds = time.monotonic() - begun

    def fused(self) -> None:
        """Into an array of its own."""
        self._kernel(self.x, self.y, A, B, C)


def worst(pairs: Any) -> float:
    """The largest relative difference of y from gelu(a x + b) + c in float64; infinite where y is no number.

    Args:
        pairs: x and y of each element.
    """
    largest = 0.0
    for x, y in pairs:
        z = A * x + B
        true = z * 0.5 * (1 + math.erf(z / math.sqrt(2))) + C
        found = abs(y - true) / abs(true)
        largest = max(largest, found if found == found else math.inf)
    return largest
