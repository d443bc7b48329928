"""The real worker with one fault, named by the variable FAULT: what the suite has to find."""

import ctypes
import os
import signal
import sys
import time
from importlib import util
from pathlib import Path
from typing import Any

REAL = Path(__file__).parents[2] / "gpudoctor" / "workers" / "smoke" / "worker.py"


def real() -> Any:
    """The real worker's module."""
    spec = util.spec_from_file_location("_real_worker", REAL)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def flip(array: Any) -> Any:
    """An array with one bit of one element flipped: the highest of the mantissa."""
    bits = array.view("uint32")
    bits[len(array) // 3, 5] ^= 1 << 22
    return array


def product_bit(cpu: Any) -> None:
    """A product has one wrong bit."""
    multiply = cpu.CpuBackend.multiply

    def wrong(self: Any, a: Any, b: Any, dtype: str) -> Any:
        call = multiply(self, a, b, dtype)
        return lambda: flip(call())

    cpu.CpuBackend.multiply = wrong


def tf32(cpu: Any) -> None:
    """Products see their operands with TF32's ten bits of mantissa, cut off."""
    operand = cpu.CpuBackend.operand

    def cut(self: Any, values: Any, dtype: str, side: str = "a") -> Any:
        array, exact = operand(self, values, dtype, side)
        return (array.view("uint32") & 0xFFFFE000).view("float32"), exact

    cpu.CpuBackend.operand = cut


def image(cpu: Any) -> None:
    """One image of the batch arrives as zeros."""
    network = cpu.CpuBackend.network

    def lost(self: Any, weights: Any, images: bytes, labels: bytes) -> Any:
        return network(self, weights, images[: 784 * 99] + bytes(784) + images[784 * 100 :], labels)

    cpu.CpuBackend.network = lost


def step(cpu: Any) -> None:
    """The step is not taken."""
    cpu.ArrayNetwork.update = lambda *_: None


def copy(cpu: Any) -> None:
    """Copies to the device are lost."""
    cpu.CpuCopies.to_device = lambda *_: None


def memory(cpu: Any) -> None:
    """A word of the memory does not keep what was written."""
    triad = cpu.HostVectors.triad

    def wrong(self: Any) -> None:
        triad(self)
        self.z[12345] += 1

    cpu.HostVectors.triad = wrong


def nothing(_: Any) -> None:
    """It is well, and only hurries."""


def rest(word: str) -> Any:
    """What happens in the middle of the training step."""

    def happen(*_: Any) -> Any:
        if word == "sleeps":
            time.sleep(1000)
        elif word == "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(1000)
        elif word == "stopped":
            while True:
                os.kill(os.getpid(), signal.SIGSTOP)
        elif word == "segfault":
            ctypes.string_at(0)
        elif word == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        elif word == "exits":
            sys.stderr.write("something went wrong inside\n")
            sys.stderr.flush()
            os._exit(7)
        elif word == "full":
            raise MemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        elif word == "assert":
            raise RuntimeError("CUDA error: device-side assert triggered")
        raise ValueError("a fault of another kind")

    return happen


def spins(worker: Any) -> None:
    """A test that never ends but listens."""
    mnist = worker.load("tests.mnist")

    def spin(bench: Any, *_: Any) -> None:
        while True:
            time.sleep(0.02)
            bench.pause()

    mnist._one = spin


def hurry(worker: Any) -> None:
    """How fast it is matters to none who plants a fault: measure for a moment, in little memory."""
    timing, bandwidth = worker.load("timing"), worker.load("tests.bandwidth")
    timing.WARM_UP, timing.LONGEST_WARM_UP, timing.BATCHES = 0.0, 0.02, 2
    timing.measure.__defaults__ = (0.0, 0.05)
    bandwidth.ON_CPU = bandwidth.SMALLEST


def main() -> None:
    """Plant the fault and run."""
    fault, worker = os.environ.get("FAULT", ""), real()
    cpu = worker.load("backends.cpu")
    if fault:
        hurry(worker)
    if fault == "import":
        raise_import(cpu)
    elif fault == "spins":
        spins(worker)
    elif fault in globals() and callable(globals()[fault]):
        globals()[fault](cpu)
    elif fault:
        cpu.ArrayNetwork.gradients = rest(fault)
    worker.main()


def raise_import(cpu: Any) -> None:
    """The framework cannot be imported."""

    def fail(*_: Any) -> None:
        raise ImportError("libcudnn.so.9: cannot open shared object file: No such file or directory")

    cpu.CpuBackend.__init__ = fail


if __name__ == "__main__":
    main()
