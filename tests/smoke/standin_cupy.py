"""A stand-in for CuPy: NumPy behind its names, for tests without a GPU; copied to `cupy.py` it is imported as such.

It is as strict as CuPy is: no arithmetic with arrays of the host, and what is queued on a stream happens when that
stream is waited for, or works on. `STATE` says what the device is like, and what is ill about it.
"""

import ctypes
import math
import os
import re
import sys
import time
import weakref
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy

__version__ = "14.2.0"


class State:
    """The device, as the environment of a worker may say: STANDIN_CUPY="devices=0 free=300"."""

    def __init__(self) -> None:
        said = dict(part.split("=") for part in os.environ.get("STANDIN_CUPY", "").split())
        self.devices = int(said.get("devices", 1))
        self.free = int(said.get("free", 400)) << 20
        self.pinnable = int(said.get("pinnable", 1 << 20)) << 20
        self.major = int(said.get("major", 9))
        self.access = True
        self.nccl = True
        self.compute: dict[str, int] = {}
        self.pinned: set[int] = set()
        self.peers: set[tuple[int, int]] = set()
        self.device = 0
        self.streams: list[Any] = []


STATE = State()


class CUDARuntimeError(RuntimeError):
    """As the runtime says it."""

    WORDS: ClassVar = {
        2: "cudaErrorMemoryAllocation: out of memory",
        35: "cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version",
        704: "cudaErrorPeerAccessAlreadyEnabled: peer access is already enabled",
    }

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(self.WORDS[status])


# -- arrays -----------------------------------------------------------------------------------------------------


class ndarray(numpy.ndarray):  # noqa: N801
    """An array of the device."""

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self.ctypes.data)

    def get(self) -> Any:
        get_current_stream().flush()
        return numpy.array(self.view(numpy.ndarray))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **more: Any) -> Any:
        for given in inputs:
            if type(given) is numpy.ndarray and given.ndim:
                raise TypeError("Unsupported type <class 'numpy.ndarray'>")
        get_current_stream().flush()
        if more.get("out"):
            more["out"] = tuple(plain(array) for array in more["out"])
        found = getattr(ufunc, method)(*map(plain, inputs), **more)
        return found.view(ndarray) if isinstance(found, numpy.ndarray) else found


def plain(array: Any) -> Any:
    return array.view(numpy.ndarray) if isinstance(array, ndarray) else array


def made(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function, with arrays of the device."""
    return lambda first, *given, **more: function(plain(first), *given, **more).view(ndarray)


empty, zeros, full, arange = (made(f) for f in (numpy.empty, numpy.zeros, numpy.full, numpy.arange))
asarray, ascontiguousarray, tile, sort = (
    made(f) for f in (numpy.array, numpy.ascontiguousarray, numpy.tile, numpy.sort)
)
maximum, exp, log, sin = numpy.maximum, numpy.exp, numpy.log, numpy.sin


def asnumpy(array: ndarray) -> Any:
    return array.get()


def copyto(target: ndarray, source: ndarray) -> None:
    get_current_stream().flush()
    numpy.copyto(plain(target), plain(source))


def count_nonzero(array: ndarray) -> ndarray:
    get_current_stream().flush()
    return numpy.asarray(numpy.count_nonzero(plain(array))).view(ndarray)


lib = SimpleNamespace(stride_tricks=SimpleNamespace(as_strided=made(numpy.lib.stride_tricks.as_strided)))
TF32, DEFAULT = 7, 1


def matmul(a: ndarray, b: ndarray, out: Any = None) -> ndarray:
    """Accumulated in float32; TF32 keeps ten bits after the first."""
    if not (type(a) is type(b) is ndarray):
        raise TypeError("Unsupported type")
    get_current_stream().flush()
    sides = [plain(array).astype(numpy.float32) for array in (a, b)]
    if a.dtype == numpy.float32 and STATE.compute.get("float32") == TF32:
        sides = [((s.view(numpy.uint32) + 0x1000) & 0xFFFFE000).view(numpy.float32) for s in sides]
    found: ndarray = numpy.matmul(*sides).astype(a.dtype).view(ndarray)
    if out is not None:
        out[...] = found
        found = out
    return found


class ElementwiseKernel:
    """A line of C++ that is also one of Python, but for the f behind its numbers."""

    def __init__(self, inputs: str, output: str, operation: str, name: str) -> None:
        self.names, self.output = re.findall(r"float32 (\w+)", inputs), output.split()[1]
        self.code = compile(re.sub(r"(\d)f\b", r"\1", operation), name, "exec")

    def __call__(self, *arrays: ndarray) -> None:
        get_current_stream().flush()
        known = dict(zip(self.names, map(plain, arrays), strict=False), erf=plain_erf)
        exec(self.code, {}, known)
        arrays[-1][...] = known[self.output]


def fuse(kernel_name: str) -> Any:
    return lambda function: function


def plain_erf(array: Any) -> Any:
    """The error function, which NumPy has not."""
    return numpy.array([math.erf(value) for value in array.tolist()], array.dtype)


def erf(array: ndarray) -> ndarray:
    get_current_stream().flush()
    return plain_erf(plain(array)).view(ndarray)  # type: ignore[no-any-return]


# -- streams, events, memory ------------------------------------------------------------------------------------


class Stream:
    """What is queued on it happens when it is flushed."""

    ptrs: ClassVar[dict[int, "Stream"]] = {}

    def __init__(self, non_blocking: bool = False) -> None:
        self.ptr = len(self.ptrs)
        self.ptrs[self.ptr] = self
        self.queue: list[Callable[[], None]] = []

    def __enter__(self) -> "Stream":
        STATE.streams.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        STATE.streams.pop()

    def flush(self) -> None:
        queue, self.queue = self.queue, []
        for work in queue:
            work()

    synchronize = flush

    def wait_event(self, event: "Event") -> None:
        event.synchronize()


NULL = Stream()


def get_current_stream() -> Stream:
    return STATE.streams[-1] if STATE.streams else NULL


class Event:
    def __init__(self) -> None:
        self.at, self.stream = 0.0, NULL

    def record(self, stream: Stream | None = None) -> None:
        self.stream = stream or get_current_stream()
        self.stream.queue.append(lambda: setattr(self, "at", time.perf_counter()))

    def synchronize(self) -> None:
        self.stream.flush()


def get_elapsed_time(begun: Event, ended: Event) -> float:
    return max(1e-4, 1e3 * (ended.at - begun.at))


class PinnedMemory:
    def __init__(self, size: int) -> None:
        if size > STATE.pinnable:
            raise CUDARuntimeError(2)
        self.buffer = (ctypes.c_ubyte * size)()
        self.ptr = ctypes.addressof(self.buffer)
        STATE.pinned.add(self.ptr)
        weakref.finalize(self.buffer, STATE.pinned.discard, self.ptr)


class Device:
    def __init__(self, number: int) -> None:
        self.number = number

    def use(self) -> None:
        STATE.device = self.number

    def __enter__(self) -> None:
        self.before, STATE.device = STATE.device, self.number

    def __exit__(self, *_: object) -> None:
        STATE.device = self.before


POOL = SimpleNamespace(free_bytes=lambda: 0, free_all_blocks=lambda: None)


def get_default_memory_pool() -> Any:
    return POOL


get_default_pinned_memory_pool = get_default_memory_pool


# -- the runtime ------------------------------------------------------------------------------------------------


def _count() -> int:
    if not STATE.devices:
        raise CUDARuntimeError(35)
    return STATE.devices


def _properties(number: int) -> dict[str, Any]:
    return {
        "name": b"Stand-in %d" % number,
        "major": STATE.major,
        "minor": 0,
        "multiProcessorCount": 132,
        "asyncEngineCount": 3,
        "l2CacheSize": 1 << 20,
    }


def _later(target: int, source: int, size: int, stream: int) -> None:
    def copy() -> None:
        ctypes.memmove(target, source, size)

    Stream.ptrs[stream].queue.append(copy)


def _synchronize() -> None:
    for stream in list(Stream.ptrs.values()):
        stream.flush()


def _enable(other: int) -> None:
    if (STATE.device, other) in STATE.peers:
        raise CUDARuntimeError(704)
    STATE.peers.add((STATE.device, other))


runtime = SimpleNamespace(
    is_hip=False,
    CUDARuntimeError=CUDARuntimeError,
    memcpyHostToDevice=1,
    memcpyDeviceToHost=2,
    memoryTypeHost=1,
    getDeviceCount=_count,
    getDeviceProperties=_properties,
    memGetInfo=lambda: (STATE.free, 2 * STATE.free),
    deviceSynchronize=_synchronize,
    memcpyAsync=lambda target, source, size, kind, stream: _later(target, source, size, stream),
    memcpyPeerAsync=lambda target, to, source, of, size, stream: _later(target, source, size, stream),
    deviceCanAccessPeer=lambda one, other: int(STATE.access),
    deviceEnablePeerAccess=_enable,
    pointerGetAttributes=lambda pointer: SimpleNamespace(type=int(pointer in STATE.pinned)),
)
cuda = SimpleNamespace(
    runtime=runtime,
    Event=Event,
    Stream=Stream,
    Device=Device,
    PinnedMemory=PinnedMemory,
    PinnedMemoryPointer=lambda memory, offset: memory.buffer,
    get_current_stream=get_current_stream,
    get_elapsed_time=get_elapsed_time,
)


# -- NCCL, compute types ----------------------------------------------------------------------------------------


class Communicator:
    group: ClassVar[list[tuple[int, int, int, int]]] = []
    lost = 0  # ranks that are forgotten

    @staticmethod
    def initAll(devices: list[int]) -> list["Communicator"]:  # noqa: N802
        return [Communicator() for _ in devices]

    def allReduce(self, send: int, receive: int, count: int, kind: int, operation: int, stream: int) -> None:  # noqa: N802
        self.group.append((send, receive, count, kind))

    def destroy(self) -> None:
        pass


def _at(pointer: int, count: int, kind: int) -> Any:
    form = ctypes.c_float if kind == 7 else ctypes.c_uint16
    return numpy.ctypeslib.as_array(ctypes.cast(pointer, ctypes.POINTER(form)), (count,))


def _group_end() -> None:
    def values(pointer: int, count: int, kind: int) -> Any:
        found = _at(pointer, count, kind)
        return found if kind == 7 else (found.astype(numpy.uint32) << 16).view(numpy.float32)

    group, Communicator.group[:] = list(Communicator.group), []
    total = sum(values(send, count, kind) for send, _, count, kind in group[Communicator.lost :])
    for _, receive, count, kind in group:
        _at(receive, count, kind)[:] = total if kind == 7 else (total.view(numpy.uint32) >> 16)


def _compute_index(dtype: Any) -> int:
    name = numpy.dtype(dtype).name
    if name not in ("float16", "float32", "float64", "bfloat16"):
        raise TypeError(f"dtype is not supported: {name}")
    return 0


_core = SimpleNamespace(
    get_compute_type=lambda dtype: STATE.compute.get(numpy.dtype(dtype).name, DEFAULT),
    set_compute_type=lambda dtype, kind: STATE.compute.update({numpy.dtype(dtype).name: kind}),
)


def _module(name: str, **attributes: Any) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(attributes)
    return made


def modules(top: ModuleType) -> dict[str, ModuleType]:
    """What `import` finds."""
    return {
        "cupy": top,
        "cupy._core._routines_linalg": _module(
            "linalg",
            COMPUTE_TYPE_TF32=TF32,
            COMPUTE_TYPE_DEFAULT=DEFAULT,
            to_compute_type_index=_compute_index,
        ),
        "cupy.cuda.nccl": _module(
            "nccl",
            available=True,
            NcclCommunicator=Communicator,
            groupStart=lambda: None,
            groupEnd=_group_end,
            NCCL_FLOAT32=7,
            NCCL_BFLOAT16=9,
            NCCL_SUM=0,
        ),
        "cupyx.scipy.special": _module("special", erf=erf),
    }


if __name__ == "cupy":
    sys.modules.update(modules(sys.modules["cupy"]))
