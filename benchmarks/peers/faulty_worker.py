"""Runs in the framework's interpreter: gpudoctor's worker with one fault, named by the variable PLANTED.

The faults are planted in PyTorch's backend, and in what every backend shares.
"""

import importlib.util
import os
import signal
from contextlib import contextmanager
from pathlib import Path

REAL = Path(__file__).resolve().parents[2] / "gpudoctor" / "workers" / "smoke" / "worker.py"
IMAGE = 784  # bytes


def stopped(load):
    """SIGSTOP before the training step, which goes on where somebody wakes the worker."""
    mnist = load("tests.mnist")
    one = mnist._one

    def sleep(bench):
        os.kill(os.getpid(), signal.SIGSTOP)
        one(bench)

    mnist._one = sleep


def kernel(load):
    """A kernel that does not end, in the training step; torch.cuda._sleep spins for so many clock cycles."""

    def spin(bench):
        bench.backend.torch.cuda._sleep(1 << 60)
        bench.backend.synchronize()

    load("tests.mnist")._one = spin


def bit(load):
    """The highest bit of one element's mantissa is flipped in every product."""
    backend = load("backends.pytorch").PytorchBackend
    multiply = backend.multiply

    def wrong(self, a, b, dtype):
        call, torch = multiply(self, a, b, dtype), self.torch
        whole, place = {"fp32": (torch.int32, 22), "tf32": (torch.int32, 22), "fp16": (torch.int16, 9)}.get(
            dtype, (torch.int16, 6)
        )

        def flipped():
            product = call()
            product.view(whole)[len(product) // 3, 5] ^= 1 << place
            return product

        return flipped

    backend.multiply = wrong


def zeros(load):
    """Copies to the device are lost."""
    load("backends.pytorch.copies").Copies.to_device = lambda _: None


def image(load):
    """One of the images of the training step arrives as zeros."""
    backend = load("backends.pytorch").PytorchBackend
    network = backend.network

    def lost(self, weights, images, labels):
        return network(self, weights, images[: IMAGE * 99] + bytes(IMAGE) + images[IMAGE * 100 :], labels)

    backend.network = lost


def pageable(load):
    """What is asked to be pinned is not."""
    copies = load("backends.pytorch.copies")
    buffer = copies.buffer
    copies.buffer = lambda backend, size, _: buffer(backend, size, False)


def tf32(load):
    """TF32 is allowed where it should be off."""
    pytorch = load("backends.pytorch")
    switched = pytorch.switched

    @contextmanager
    def forced(torch, dtype):
        with switched(torch, "tf32" if dtype == "fp32" else dtype):
            yield

    pytorch.switched = forced


FAULTS = {fault.__name__: fault for fault in (stopped, kernel, bit, zeros, image, pageable, tf32)}


def main():
    """Plant the fault and run."""
    spec = importlib.util.spec_from_file_location("_real_worker", str(REAL))
    worker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(worker)
    planted = os.environ.get("PLANTED")
    if planted:
        FAULTS[planted](worker.load)
    worker.main()


if __name__ == "__main__":
    main()
