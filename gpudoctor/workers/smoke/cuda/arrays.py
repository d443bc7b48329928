"""Matrices and vectors on the device, copied there and back as NumPy's, and products of them."""

from __future__ import annotations

from .kernels import TILE, blocks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .device import CudaContext
    from .kernels import Launch

NAN = 0x7FC00000  # float32's quiet NaN
COUNTERS = 1024  # blocks that count, a number each


class Array:
    """Numbers of four bytes on the device, in C order; freed with the object.

    Attributes:
        device: where it lies.
        shape: its lengths.
        address: of its first element.

    Args:
        device: where it shall lie.
        shape: its lengths.
        values: a NumPy array of four-byte numbers that it begins with; without one, its bytes are anything.
        numpy: the module.
    """

    def __init__(self, device: CudaContext, numpy: Any, shape: Sequence[int], values: Any = None) -> None:
        self.device, self.numpy, self.shape, self.address = device, numpy, tuple(shape), 0
        self.elements = 1
        for length in self.shape:
            self.elements *= length
        self.address = device.allocate(4 * self.elements)
        if values is not None:
            device.upload(self.address, numpy.ascontiguousarray(values))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: Any) -> MatrixPart:
        """A part of its rows, or of its rows and columns, as slices: `array[:8, :512]`."""
        rows, columns = part if isinstance(part, tuple) else (part, slice(None))
        width: Any = range(self.elements // self.shape[0])
        height: Any = range(self.shape[0])
        return MatrixPart(self, height[rows], width[columns])

    def fill(self, bits: int) -> None:
        """Queue the same four bytes into every element."""
        self.device.cuda.call("cuMemsetD32Async", self.address, bits, self.elements, self.device.stream)

    def host(self, dtype: str = "float32") -> Any:
        """Its values as a NumPy array, after all that was queued."""
        found = self.numpy.empty(self.shape, dtype)
        self.device.download(found, self.address)
        return found

    def __del__(self) -> None:
        if self.address:
            self.device.give_back(self.address)


class MatrixPart:
    """Some neighboring rows and columns of a matrix, to be copied to the host alone."""

    def __init__(self, whole: Array, rows: range, columns: range) -> None:
        self.whole, self.rows, self.columns = whole, rows, columns
        self.shape = (len(rows), len(columns))

    def __len__(self) -> int:
        return len(self.rows)

    def host(self, dtype: str = "float32") -> Any:
        """Its values as a NumPy array, after all that was queued."""
        found = self.whole.numpy.empty(self.shape, dtype)
        width = self.whole.elements // self.whole.shape[0]
        for line, row in zip(found, self.rows):
            self.whole.device.download(line, self.whole.address + 4 * (row * width + self.columns.start))
        return found


def product(a: Array, b: Array, out: Array, a_turned: bool = False, b_turned: bool = False) -> Launch:
    """What queues out = A B, where A is `a` or its transpose, and B likewise.

    Raises:
        TypeError: the shapes do not fit.
    """
    rows, depth = a.shape[::-1] if a_turned else a.shape
    inner, columns = b.shape[::-1] if b_turned else b.shape
    if inner != depth or out.shape != (rows, columns):
        raise TypeError("%s x %s is not %s" % (a.shape, b.shape, out.shape))
    a_steps = (1, rows) if a_turned else (depth, 1)
    b_steps = (1, depth) if b_turned else (columns, 1)
    grid = (blocks(columns, TILE)[0], blocks(rows, TILE)[0])
    return out.device.launch("multiply", grid, a, *a_steps, b, *b_steps, out, rows, columns, depth)


class Count:
    """A counting kernel, whose last two arguments are added here; calling it queues it.

    Args:
        device: where it runs.
        numpy: the module.
        name: of the kernel.
        elements: over which it counts.
        arguments: what it counts in.
    """

    def __init__(self, device: CudaContext, numpy: Any, name: str, elements: int, *arguments: Any) -> None:
        grid = blocks(elements, most=COUNTERS)
        self._counts = Array(device, numpy, grid[:1])
        self._counts.fill(0xFFFFFFFF)  # so that a kernel that did not run counts -1 a block
        self.queue = device.launch(name, grid, *arguments, self._counts, elements)

    def sum(self) -> int:
        """What it counted, after all that was queued."""
        return int(self._counts.host("int32").sum())


def counted(device: CudaContext, numpy: Any, name: str, elements: int, *arguments: Any) -> int:
    """What a counting kernel counts now."""
    count = Count(device, numpy, name, elements, *arguments)
    count.queue()
    return count.sum()
