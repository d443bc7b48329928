"""libcuda's functions with the types of their arguments, and its errors as exceptions that name both.

Signatures and error codes: https://docs.nvidia.com/cuda/cuda-driver-api/, as its cuda.h has them since CUDA 9.0.
"""

from __future__ import annotations

import ctypes

from ..runner import Unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "libcuda.so.1"

_I, _U, _SIZE, _P = ctypes.c_int, ctypes.c_uint, ctypes.c_size_t, ctypes.c_void_p
_AT = ctypes.c_uint64  # CUdeviceptr
# A device is an int; contexts, streams, events, modules and functions are pointers, and so is a place for a result.
SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cuInit": (_U,),
    "cuDeviceGet": (_P, _I),
    "cuDeviceGetCount": (_P,),
    "cuDeviceGetName": (_P, _I, _I),
    "cuDeviceGetAttribute": (_P, _I, _I),
    "cuDeviceCanAccessPeer": (_P, _I, _I),
    "cuDevicePrimaryCtxRetain": (_P, _I),
    "cuDevicePrimaryCtxRelease_v2": (_I,),
    "cuCtxSetCurrent": (_P,),
    "cuCtxSynchronize": (),
    "cuCtxEnablePeerAccess": (_P, _U),
    "cuMemGetInfo_v2": (_P, _P),
    "cuMemAlloc_v2": (_P, _SIZE),
    "cuMemFree_v2": (_AT,),
    "cuMemHostAlloc": (_P, _SIZE, _U),
    "cuMemFreeHost": (_P,),
    "cuPointerGetAttribute": (_P, _I, _AT),
    "cuMemcpyHtoDAsync_v2": (_AT, _P, _SIZE, _P),
    "cuMemcpyDtoHAsync_v2": (_P, _AT, _SIZE, _P),
    "cuMemcpyPeerAsync": (_AT, _P, _AT, _P, _SIZE, _P),
    "cuMemsetD8Async": (_AT, ctypes.c_ubyte, _SIZE, _P),
    "cuMemsetD32Async": (_AT, _U, _SIZE, _P),
    "cuStreamCreate": (_P, _U),
    "cuStreamSynchronize": (_P,),
    "cuStreamWaitEvent": (_P, _P, _U),
    "cuStreamDestroy_v2": (_P,),
    "cuEventCreate": (_P, _U),
    "cuEventRecord": (_P, _P),
    "cuEventSynchronize": (_P,),
    "cuEventElapsedTime": (_P, _P, _P),
    "cuEventDestroy_v2": (_P,),
    "cuModuleLoadDataEx": (_P, _P, _U, _P, _P),
    "cuModuleGetFunction": (_P, _P, ctypes.c_char_p),
    "cuModuleUnload": (_P,),
    "cuLaunchKernel": (_P, _U, _U, _U, _U, _U, _U, _U, _P, _P, _P),
}
# Drivers before CUDA 11.0 have these without the suffix; they do the same.
FORMER = {"cuDevicePrimaryCtxRelease_v2": "cuDevicePrimaryCtxRelease"}

# CUresult, as far as something follows from it.
INVALID_VALUE, OUT_OF_MEMORY, OPERATING_SYSTEM, PEER_ALREADY_ENABLED, NOT_SUPPORTED = 1, 2, 304, 704, 801
# After these the context is dead: every further call of the process returns the same error.
DEAD = {
    214,  # ECC_UNCORRECTABLE
    220,  # NVLINK_UNCORRECTABLE
    700,  # ILLEGAL_ADDRESS
    702,  # LAUNCH_TIMEOUT
    709,  # CONTEXT_IS_DESTROYED
    710,  # ASSERT
    714,  # HARDWARE_STACK_ERROR
    715,  # ILLEGAL_INSTRUCTION
    716,  # MISALIGNED_ADDRESS
    717,  # INVALID_ADDRESS_SPACE
    718,  # INVALID_PC
    719,  # LAUNCH_FAILED
    721,  # CONTAINED
}


class CudaError(Exception):
    """A function of libcuda returned an error.

    Attributes:
        function: its name.
        code: the CUresult.
    """

    def __init__(self, function: str, code: int, name: str, text: str, more: str = "") -> None:
        super().__init__("%s: %s (%s)%s" % (function, name, text, ": " + more if more else ""))
        self.function, self.code = function, code


class CudaLibrary:
    """libcuda.

    Args:
        name: of the file, as the loader finds it.

    Raises:
        Unsupported: it cannot be loaded; in the loader's words.
    """

    def __init__(self, name: str = NAME) -> None:
        try:
            self._library = ctypes.CDLL(name)
        except OSError as problem:
            raise Unsupported("The NVIDIA driver's library cannot be loaded: %s." % problem) from None
        self._functions: dict[str, Any] = {}

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function.

        Raises:
            CudaError: it returned an error.
            Unsupported: this libcuda is too old to have it.
        """
        code = self.code(name, *arguments)
        if code:
            raise self.error(name, code)

    def code(self, name: str, *arguments: Any) -> int:
        """Call a function whose errors are answers; return its CUresult."""
        code: int = (self._functions.get(name) or self._found(name))(*arguments)
        return code

    def number(self, name: str, *arguments: Any, kind: Any = ctypes.c_int) -> Any:
        """The value that a function writes to its first argument, a place for one of this ctypes type."""
        value = kind()
        self.call(name, ctypes.addressof(value), *arguments)
        return value.value

    def handle(self, name: str, *arguments: Any) -> Any:
        """The context, stream, event, module or function that a function makes."""
        return self.number(name, *arguments, kind=_P)

    def error(self, function: str, code: int, more: str = "") -> CudaError:
        """The exception for an error, with libcuda's own name and words for it."""
        name = self._words("cuGetErrorName", code) or "error %d" % code
        return CudaError(function, code, name, self._words("cuGetErrorString", code) or "unknown error", more)

    def _words(self, function: str, code: int) -> str | None:
        text = ctypes.c_char_p()
        ask = getattr(self._library, function, None)
        if ask is None or ask(code, ctypes.byref(text)) or text.value is None:
            return None
        return text.value.decode("utf-8", "replace")

    def _found(self, name: str) -> Any:
        for one in (name, FORMER.get(name, name)):
            function = getattr(self._library, one, None)
            if function is not None:
                function.argtypes, function.restype = SIGNATURES[name], ctypes.c_int
                self._functions[name] = function
                return function
        raise Unsupported("This libcuda is too old: it has no %s." % name)
