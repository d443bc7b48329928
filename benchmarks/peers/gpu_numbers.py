"""Runs in the framework's interpreter: numbers of this GPU that thresholds of gpudoctor rest on.

Writes lines of JSON {"what", "value", "unit", "why"}: what the device is, how TF32 rounds its operands, what reduced
precision in the sums costs, and what fast accumulation costs in fp8.
"""

import json
import sys

import torch

SIZE = 2048


def tell(what, value, unit="", why=""):
    """One line."""
    sys.stdout.write(json.dumps({"what": what, "value": value, "unit": unit, "why": why}) + "\n")
    sys.stdout.flush()


def error(found, a, b):
    """The relative Frobenius norm of a product's error, against float64 on the GPU of the same rounded operands."""
    true = a.double() @ b.double()
    return float((found.double() - true).norm() / true.norm())


def device():
    """What it is."""
    about = torch.cuda.get_device_properties(0)
    tell("compute capability", about.major + about.minor / 10, "", about.name)
    tell("streaming multiprocessors", about.multi_processor_count)
    tell("level-2 cache", getattr(about, "L2_cache_size", 0), "bytes")
    tell("memory", about.total_memory, "bytes")


def tf32():
    """A product with the identity gives back the operand as the tensor cores saw it."""
    torch.set_float32_matmul_precision("high")
    a = torch.randn(SIZE, SIZE, device="cuda")
    seen = a @ torch.eye(SIZE, device="cuda")
    bits = a.view(torch.int32)
    cut = (bits & ~0x1FFF).view(torch.float32)
    rounded = ((bits + 0x1000) & ~0x1FFF).view(torch.float32)
    tell("TF32: operands as if cut off", float((seen == cut).float().mean()), "share")
    tell("TF32: operands as if rounded to nearest", float((seen == rounded).float().mean()), "share")
    tell("TF32: operands unchanged", float((seen == a).float().mean()), "share", "1 would mean that TF32 is not used")
    b = torch.randn(SIZE, SIZE, device="cuda")
    tell("TF32: error of a product", error(a @ b, a, b), "ratio", f"{SIZE} x {SIZE}")
    torch.set_float32_matmul_precision("highest")
    tell("float32: error of a product", error(a @ b, a, b), "ratio", f"{SIZE} x {SIZE}")


def sixteen():
    """Errors with and without reduced precision in the sums."""
    switches = torch.backends.cuda.matmul
    for name, kind in (("fp16", torch.float16), ("bf16", torch.bfloat16)):
        a, b = (torch.randn(SIZE, SIZE, device="cuda").to(kind) for _ in range(2))
        for allowed in (True, False):
            setattr(switches, f"allow_{name}_reduced_precision_reduction", allowed)
            tell(
                f"{name}: error, reduced-precision sums {'allowed' if allowed else 'forbidden'}",
                error(a @ b, a, b),
                "ratio",
            )


def fp8():
    """Errors with fast accumulation and without, at several lengths of the sums."""
    one = torch.ones((), device="cuda")
    for inner in (1024, 2048, 8192):
        a = torch.randn(SIZE, inner, device="cuda").to(torch.float8_e4m3fn)
        b = torch.randn(SIZE, inner, device="cuda").to(torch.float8_e4m3fn).t()
        for fast in (False, True):
            found = torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=fast)
            what = f"fp8: error, sums of {inner}, use_fast_accum={fast}"
            tell(what, error(found, a.float(), b.float()), "ratio", "result in bf16, which alone costs 1.65e-3")


def main():
    """All of it; what this GPU or PyTorch does not have says so."""
    for one in (device, tf32, sixteen, fp8):
        try:
            one()
        except Exception as failed:
            tell(one.__name__, None, "", f"{type(failed).__name__}: {str(failed).strip()[:200]}")


if __name__ == "__main__":
    main()
