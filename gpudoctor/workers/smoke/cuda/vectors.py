"""Vectors for the bandwidth of the device's memory."""

from __future__ import annotations

from ..backends.base import Vectors
from .arrays import NAN, Array, counted
from .kernels import SPAN, blocks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .device import CudaContext


class CudaVectors(Vectors):
    """x, y, z, and a sum of each part of x; x holds 0 to 15 without a period."""

    def __init__(self, device: CudaContext, numpy: Any, elements: int) -> None:
        self._device, self._numpy, self._elements = device, numpy, elements
        self._x, self._y, self._z = (Array(device, numpy, (elements,)) for _ in range(3))
        spans = blocks(elements, SPAN)
        self._sums = Array(device, numpy, spans[:1])
        for array in (self._y, self._z, self._sums):
            array.fill(NAN)
        device.launch("number", blocks(elements, most=65535), self._x, elements)()
        self._copy = device.launch("copy", spans, self._x, self._y, elements)
        self._triad = device.launch("triad", spans, self._x, self._y, self._z, elements)
        self._read = device.launch("read_sums", spans, self._x, self._sums, elements)
        self._was_read = False

    def copy(self) -> None:
        """Queue y = x."""
        self._copy()

    def triad(self) -> None:
        """Queue z = x + 3 y."""
        self._triad()

    def read(self) -> None:
        """Queue the sums of x."""
        self._was_read = True
        self._read()

    def wrong(self) -> int:
        """Elements of y and z, and sums where they were asked for, that are not what they should be."""
        device, numpy, elements = self._device, self._numpy, self._elements
        found = counted(device, numpy, "wrong_numbers", elements, self._y, 1.0)
        found += counted(device, numpy, "wrong_numbers", elements, self._z, 4.0)
        if self._was_read:
            found += counted(device, numpy, "wrong_sums", elements, self._sums)
        return found
