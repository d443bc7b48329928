"""Batches of pictures from PyTorch's DataLoader into a training step, with any number of workers."""

from __future__ import annotations

import importlib
import os
import time
import zlib

from ..cpu import threads
from ..loading import Loading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from . import PytorchBackend

SIDE, EVERY = 224, 3  # pixels of a packed picture, of which every third is kept in each direction
PACKED = 8  # pictures, which come again and again
ENDLESS = 1 << 30
PARTS = 3  # of the time, each waited for: a sample each
PATIENCE = 20.0  # seconds for one batch
RATE = 0.01
SHARED = "/dev/shm"  # where workers leave their batches for us


class Pictures:
    """Pictures that the CPU prepares in some milliseconds: unpacked, made smaller, normalised."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        chance = torch.Generator("cpu").manual_seed(9)
        drawn = (torch.randint(0, 64, (3 * SIDE * SIDE,), generator=chance, device="cpu") for _ in range(PACKED))
        self.packed = [zlib.compress(bytes(one.tolist()), 1) for one in drawn]

    def __len__(self) -> int:
        return ENDLESS

    def __getitem__(self, at: int) -> tuple[Any, int]:
        raw = bytearray(zlib.decompress(self.packed[at % PACKED]))
        levels = self.torch.frombuffer(raw, dtype=self.torch.uint8).reshape(3, SIDE, SIDE)
        return (levels[:, ::EVERY, ::EVERY].float() - 31.5) / 18.5, at % 10


class PictureLoading(Loading):
    """The loader, and a small convolutional network on the device.

    Attributes:
        most: workers that make sense: as many as cores, two at least, and none where shared memory is short.
    """

    batch = 32

    def __init__(self, backend: PytorchBackend) -> None:
        torch = backend.torch
        self.backend, self.torch, self.pictures = backend, torch, Pictures(torch)
        self.data: Any = importlib.import_module("torch.utils.data")
        side = -(-SIDE // EVERY)
        self.most = max(2, threads()) if shared_memory() > 2**26 - 2**22 else 0
        chance = torch.Generator("cpu").manual_seed(10)
        shapes = ((32, 3, 5, 5), (64, 32, 3, 3), (10, 64))
        self.parameters = [
            (torch.randn(shape, generator=chance, device="cpu") * 0.05).to(backend.device).requires_grad_()
            for shape in shapes
        ]
        self._there = torch.zeros((self.batch, 3, side, side), device=backend.device)
        self._labels = torch.arange(self.batch, device=backend.device) % 10

    def step(self) -> None:
        """On a batch of zeros, which takes no longer or shorter on this scale."""
        self._train(self._there, self._labels)

    def _train(self, pictures: Any, labels: Any) -> None:
        torch, layers = self.torch, self.torch.nn.functional
        first, second, last = self.parameters
        x = torch.relu(layers.conv2d(pictures, first, stride=2))
        x = torch.relu(layers.conv2d(x, second, stride=2)).mean((2, 3))
        slopes = torch.autograd.grad(layers.cross_entropy(layers.linear(x, last), labels), self.parameters)
        with torch.no_grad():
            for parameter, slope in zip(self.parameters, slopes):
                parameter.sub_(slope, alpha=RATE)

    def loaded(
        self, workers: int, pinned: bool, non_blocking: bool, seconds: float, pause: Callable[[], None]
    ) -> list[float]:
        """By a loader of its own, whose workers are gone afterwards."""
        more = {"multiprocessing_context": "fork", "timeout": PATIENCE} if workers else {}
        batches = iter(
            self.data.DataLoader(self.pictures, batch_size=self.batch, num_workers=workers, pin_memory=pinned, **more)
        )

        def one() -> None:
            pause()
            pictures, labels = (part.to(self.backend.device, non_blocking=non_blocking) for part in next(batches))
            self._train(pictures, labels)

        for _ in range(1 + 2 * workers):  # what workers have prepared ahead does not count
            one()
        return [self._timed(one, seconds / PARTS) for _ in range(PARTS)]

    def _timed(self, one: Callable[[], None], seconds: float) -> float:
        self.backend.synchronize()
        begun, count = time.perf_counter(), 0
        while count == 0 or time.perf_counter() - begun < seconds:
            one()
            count += 1
        self.backend.synchronize()
        return (time.perf_counter() - begun) / count


def shared_memory() -> int:
    """The bytes that are free where workers leave their batches; 0 where there is no such place."""
    try:
        found = os.statvfs(SHARED)
    except OSError:
        return 0
    return found.f_bavail * found.f_frsize
