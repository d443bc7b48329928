"""The kernels: PTX that the driver compiles when the first is asked for, and calls of them that can be queued again."""

from __future__ import annotations

import ctypes
import os

from ..runner import Unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .library import CudaLibrary

PTX = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels.ptx")
THREADS, TILE, SPAN = 256, 128, 4096  # as kernels.cu has them
OLDEST = (5, 0)  # the compute capability that kernels.ptx is made for
ERROR_LOG, ERROR_LOG_SIZE = 5, 6  # CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
LOG_SIZE = 8192

_KINDS: dict[str, Any] = {"p": ctypes.c_uint64, "n": ctypes.c_uint64, "i": ctypes.c_int, "f": ctypes.c_float}
# The parameters of each kernel: a place on the device, a count, an int, a float.
PARAMETERS = {
    "multiply": "piipiipiii",
    "add_bias": "ppiii",
    "entropy": "ppppii",
    "relu_back": "ppn",
    "column_sums": "ppii",
    "descend": "ppfn",
    "number": "pn",
    "copy": "ppn",
    "triad": "pppn",
    "read_sums": "ppn",
    "wrong_numbers": "pfpn",
    "wrong_sums": "ppn",
    "unequal": "pppn",
}


class Kernels:
    """The compiled kernels of one context, the current one.

    Args:
        cuda: the library.
        capability: the device's compute capability.
    """

    def __init__(self, cuda: CudaLibrary, capability: tuple[int, int]) -> None:
        self._cuda, self._capability = cuda, capability
        self._module: Any = None
        self._functions: dict[str, Any] = {}

    def function(self, name: str) -> Any:
        """The handle of a kernel.

        Raises:
            CudaError: the driver does not compile them; with its compiler's words.
            Unsupported: this GPU is older than what they are made for.
        """
        if name not in self._functions:
            if self._module is None:
                self._module = self._load()
            self._functions[name] = self._cuda.handle("cuModuleGetFunction", self._module, name.encode())
        return self._functions[name]

    def _load(self) -> Any:
        if self._capability < OLDEST:
            raise Unsupported(
                "The kernels need compute capability %d.%d, and this GPU has %d.%d." % (OLDEST + self._capability)
            )
        with open(PTX, "rb") as file:
            text = ctypes.create_string_buffer(file.read())
        log, module = ctypes.create_string_buffer(LOG_SIZE), ctypes.c_void_p()
        options = (ctypes.c_int * 2)(ERROR_LOG, ERROR_LOG_SIZE)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), LOG_SIZE)
        code = self._cuda.code("cuModuleLoadDataEx", ctypes.addressof(module), text, 2, options, values)
        if code:
            words = " ".join(log.value.decode("utf-8", "replace").split())
            raise self._cuda.error("cuModuleLoadDataEx", code, words)
        return module.value

    def close(self) -> None:
        """Unload them."""
        if self._module is not None:
            self._cuda.call("cuModuleUnload", self._module)
            self._module, self._functions = None, {}


class Launch:
    """A kernel with its arguments; calling it queues it, as often as one likes.

    Args:
        cuda: the library.
        kernels: of the current context.
        name: of the kernel.
        blocks: in both dimensions, of 256 threads each.
        arguments: addresses and numbers; something with an `address` stands for it, and is kept.
        stream: on which it runs.
    """

    def __init__(
        self, cuda: CudaLibrary, kernels: Kernels, name: str, blocks: tuple[int, int], arguments: Any, stream: Any
    ) -> None:
        kinds = PARAMETERS[name]
        if len(kinds) != len(arguments):
            raise TypeError("%s takes %d arguments, not %d" % (name, len(kinds), len(arguments)))
        self._cuda, self._kernels, self._name = cuda, kernels, name
        self._blocks, self._stream, self._kept = blocks, stream, arguments
        self._values = [_KINDS[kind](getattr(value, "address", value)) for kind, value in zip(kinds, arguments)]
        self._places = (ctypes.c_void_p * len(kinds))(*[ctypes.addressof(value) for value in self._values])

    def __call__(self) -> None:
        """Queue it."""
        function, (x, y) = self._kernels.function(self._name), self._blocks
        self._cuda.call("cuLaunchKernel", function, x, y, 1, THREADS, 1, 1, 0, self._stream, self._places, None)


def blocks(elements: int, each: int = THREADS, most: int = 1 << 30) -> tuple[int, int]:
    """The grid in which each block works on so many elements."""
    return (min(most, max(1, -(-elements // each))), 1)
