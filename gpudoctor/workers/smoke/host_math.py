"""Arithmetic on the CPU for the references: NumPy's, or PyTorch's own where NumPy is not installed."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class NumpyHost:
    """NumPy as the tests use it."""

    def __init__(self) -> None:
        import numpy

        self.module: Any = numpy

    def normal(self, rows: int, columns: int, seed: int) -> Any:
        """A float32 array drawn from the normal distribution, the same for the same seed."""
        return self.module.random.default_rng(seed).standard_normal((rows, columns), dtype=self.module.float32)

    def signs(self, rows: int, columns: int, seed: int) -> Any:
        """A float64 array of 1 and -1."""
        return self.module.random.default_rng(seed).integers(0, 2, (rows, columns)) * 2.0 - 1.0

    def floats(self, data: bytes, shape: Sequence[int]) -> Any:
        """A float32 array of native floats in a buffer."""
        return self.module.frombuffer(data, self.module.float32).reshape(tuple(shape))

    def bytes(self, data: bytes, shape: Sequence[int]) -> Any:
        """A uint8 array of a buffer."""
        return self.module.frombuffer(data, self.module.uint8).reshape(tuple(shape))

    def double(self, array: Any) -> Any:
        """An array in float64."""
        return self.module.asarray(array, self.module.float64)

    def norm(self, array: Any) -> float:
        """The Frobenius norm."""
        return float(float((array * array).sum()) ** 0.5)


class TorchHost(NumpyHost):
    """The same by PyTorch, on the CPU."""

    def __init__(self, torch: Any) -> None:
        self.module = torch

    def normal(self, rows: int, columns: int, seed: int) -> Any:
        """A float32 tensor drawn from the normal distribution, the same for the same seed."""
        return self.module.randn(rows, columns, generator=self._generator(seed), device="cpu")

    def signs(self, rows: int, columns: int, seed: int) -> Any:
        """A float64 tensor of 1 and -1."""
        drawn = self.module.randint(0, 2, (rows, columns), generator=self._generator(seed), device="cpu")
        return drawn.double() * 2.0 - 1.0

    def floats(self, data: bytes, shape: Sequence[int]) -> Any:
        """A float32 tensor of native floats in a buffer."""
        return self.module.frombuffer(bytearray(data), dtype=self.module.float32).reshape(tuple(shape))

    def bytes(self, data: bytes, shape: Sequence[int]) -> Any:
        """A uint8 tensor of a buffer."""
        return self.module.frombuffer(bytearray(data), dtype=self.module.uint8).reshape(tuple(shape))

    def double(self, array: Any) -> Any:
        """A tensor in float64 on the CPU."""
        return array.detach().cpu().double()

    def _generator(self, seed: int) -> Any:
        return self.module.Generator("cpu").manual_seed(seed)


def own_host(torch: Any = None) -> NumpyHost:
    """NumPy where it can be imported, else PyTorch."""
    try:
        return NumpyHost()
    except ImportError:
        if torch is None:
            raise
        return TorchHost(torch)
