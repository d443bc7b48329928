"""Runs in the framework's interpreter: products by torch.mm, timed by triton.testing.do_bench.

    python products.py '{"bf16": [[8192, 8192, 8192]], "fp8": ...}'

Takes shapes (rows, inner, columns) by data type, and writes a line of JSON for each: its median seconds. The data is
drawn from the normal distribution, as gpudoctor's is, because zeros are faster. do_bench warms up for 25 ms, which is
less than an idle GPU needs to reach its clocks; so each first product of a type is timed twice, and the second counts.
"""

import json
import sys

import torch
from triton.testing import do_bench

TYPES = {"fp32": "float32", "tf32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp8": "float8_e4m3fn"}
WARM_UP, REPEAT = 100, 200  # milliseconds


def product(dtype, rows, inner, columns):
    """What queues the product once."""
    kind = getattr(torch, TYPES[dtype])
    a = torch.randn(rows, inner, device="cuda").to(kind)
    b = torch.randn(columns, inner, device="cuda").to(kind).t()
    if dtype != "fp8":
        b = b.contiguous()
        out = torch.empty(rows, columns, device="cuda", dtype=kind)
        return lambda: torch.mm(a, b, out=out)
    one = torch.ones((), device="cuda")
    return lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)


def main():
    """Time what is asked for."""
    for dtype, shapes in json.loads(sys.argv[1]).items():
        torch.set_float32_matmul_precision("high" if dtype == "tf32" else "highest")
        for number, shape in enumerate(shapes):
            reported = {"dtype": dtype, "shape": shape}
            try:
                call = product(dtype, *shape)
                for _ in range(1 if number else 2):
                    reported["seconds"] = do_bench(call, warmup=WARM_UP, rep=REPEAT, return_mode="median") / 1000
            except Exception as error:
                reported["error"] = f"{type(error).__name__}: {str(error).strip().splitlines()[:1]}"
            sys.stdout.write(json.dumps(reported) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
