"""A Triton kernel for `gelu(a * x + b) + c`, in a file because Triton reads a kernel's source."""

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

triton: "Any" = importlib.import_module("triton")
tl: "Any" = importlib.import_module("triton.language")

BLOCK = 1024  # elements of one program


# Without a postponed evaluation of annotations, which Triton reads.
@triton.jit  # type: ignore[untyped-decorator]
def kernel(x_at, y_at, a, b, c, elements, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    """One block of elements."""
    places = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = places < elements
    z = a * tl.load(x_at + places, mask=inside) + b
    gelu = z * 0.5 * (1.0 + tl.math.erf(z * 0.7071067811865476))
    tl.store(y_at + places, gelu + c, mask=inside)


def launched(x: "Any", y: "Any", a: float, b: float, c: float) -> None:
    """Queue the kernel over two vectors of equal length."""
    kernel[(triton.cdiv(len(x), BLOCK),)](x, y, a, b, c, len(x), BLOCK=BLOCK)
