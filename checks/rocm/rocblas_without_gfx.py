"""PyTorch has kernels for the GPU, and the rocBLAS in the wheel has none."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.torch_build import reinstall_torch
from gpudoctor.knowledge import torch
from gpudoctor.maybe import known, known_or, phrase, phrases, present
from gpudoctor.queries.gfx import amd_pairs, bare, covers, effective
from gpudoctor.targets import OnPair

_PATH = "ROCBLAS_TENSILE_LIBPATH"  # where rocBLAS looks instead


def _fixes(on: OnPair) -> tuple[Fix, ...]:
    gfx, own = present(on.gpu.gfx), present(on.framework.hip)
    if not own.startswith(torch.rocm_for(gfx) or own):
        return reinstall_torch(on.facts, on.python, on.framework, on.gpu)
    message = (
        f"Build rocBLAS from source for {gfx}, or use another GPU: no known wheel has a rocBLAS with kernels for it."
    )
    return (Fix(message, impact="none"),)


@check(
    title="The rocBLAS in the PyTorch wheel has no kernels for this AMD GPU",
    severity=Severity.ERROR,
    cause="rocBLAS loads its kernels from files, one set for each gfx target (TensileLibrary_lazy_gfx1100.dat). ROCm "
    "drops older targets there before PyTorch does, so the GPU is listed and simple operations work, but the first "
    "matmul aborts: 'rocBLAS error: Cannot read TensileLibrary.dat: Illegal seek for GPU arch'.",
    fixes=_fixes,
    references=(
        "https://github.com/pytorch/pytorch/issues/179865",
        "https://github.com/ROCm/legacy-rocm-build/issues/4625",
    ),
    targets=amd_pairs,
    caused_by=("rocm.override-of-another-isa", "rocm.not-loaded"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def rocblas_without_gfx(on: OnPair) -> Problem | None:
    """No file of rocBLAS names the target for which ROCr looks for kernels."""
    if on.framework.name != "torch" or _PATH in on.facts.host.environment:
        return None
    there = known(on.framework.blas)
    known(on.gpu.gfx)
    target = effective(on.facts, on.gpu)
    archs = known_or(on.framework.archs, ())
    if not there or target is None or covers(there, target) or (archs and not covers(archs, target)):
        return None
    name = known_or(on.gpu.name, None) or "AMD GPU"
    message = (
        f"{on.name} was compiled for {target}, but the rocBLAS in it has no TensileLibrary for GPU {on.gpu.index} "
        f"({name}, {target}), only for {' '.join(bare(one) for one in there)}: matmul aborts."
    )
    return Problem(message, phrases(phrase("{}/lib/rocblas/library: no file for this target", on.framework.location)))
