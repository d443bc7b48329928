"""Vectors on the device, for the bandwidth of its memory."""

from __future__ import annotations

from ..base import Vectors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import PytorchBackend


class Triple(Vectors):
    """x holds 0, 1 ... 999 again and again; y and z hold NaN, until they are written."""

    def __init__(self, backend: PytorchBackend, elements: int) -> None:
        torch, device = backend.torch, backend.device
        self.torch = torch
        thousand = torch.arange(1000, dtype=torch.float32, device=device)
        self.x = thousand.repeat(elements // 1000 + 1)[:elements]
        self.y, self.z = (torch.full((elements,), float("nan"), device=device) for _ in range(2))
        self.total = torch.empty((), device=device)

    def copy(self) -> None:
        """y = x."""
        self.y.copy_(self.x)

    def triad(self) -> None:
        """z = x + 3 y, in one kernel."""
        self.torch.add(self.x, self.y, alpha=3, out=self.z)

    def read(self) -> None:
        """The sum of x."""
        self.torch.sum(self.x, 0, out=self.total)

    def wrong(self) -> int:
        """Elements that are not what they should be."""
        return int((self.y != self.x).sum() + (self.z != self.x * 4).sum())
