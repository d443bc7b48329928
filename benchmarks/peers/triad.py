"""Runs in the framework's interpreter: the triad z = x + 3 y as a Triton kernel, timed by triton.testing.do_bench.

    python triad.py BYTES

Takes the bytes of one vector, and writes a line of JSON: GB/s (1e9 bytes, read and written) of the triad and of a copy.
"""

import json
import sys

import torch
import triton
import triton.language as tl
from triton.testing import do_bench

FLOAT = 4
BLOCKS = (1024, 2048, 4096)  # elements of one program; the fastest counts, as a peer should be at its best
REPEAT = 150  # milliseconds


@triton.jit
def triad(x_at, y_at, z_at, elements, BLOCK: tl.constexpr):  # noqa: N803
    """One block."""
    places = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = places < elements
    x, y = tl.load(x_at + places, mask=inside), tl.load(y_at + places, mask=inside)
    tl.store(z_at + places, x + 3.0 * y, mask=inside)


def rate(call, moved):
    """GB/s of a call that moves so many bytes."""
    return 1e-6 * moved / do_bench(call, warmup=REPEAT, rep=REPEAT, return_mode="median")


def main():
    """Time both."""
    size = int(sys.argv[1])
    elements = size // FLOAT
    x, y = (torch.arange(elements, device="cuda").remainder(1000).float() for _ in range(2))
    z = torch.empty_like(x)
    rates = {}
    for block in BLOCKS:
        grid = (triton.cdiv(elements, block),)
        rates[block] = rate(lambda grid=grid, block=block: triad[grid](x, y, z, elements, BLOCK=block), 3 * size)
    wrong = int((z != 4 * x).sum())
    reported = {"bytes": size, "triad": max(rates.values()), "copy": rate(lambda: z.copy_(x), 2 * size), "wrong": wrong}
    sys.stdout.write(json.dumps(reported) + "\n")


if __name__ == "__main__":
    main()
