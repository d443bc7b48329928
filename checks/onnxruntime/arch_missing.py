"""ONNX Runtime without code for a GPU's compute capability."""

from gpudoctor.check_engine import Fix
from gpudoctor.checks.onnxruntime import ONNXRUNTIME
from gpudoctor.facts import Gpu
from gpudoctor.families import builds
from gpudoctor.families.builds import GpuCode
from gpudoctor.maybe import known_or, present
from gpudoctor.queries.capability import covers, side
from gpudoctor.targets import OnFramework


def _code(on: OnFramework) -> GpuCode | None:
    """The code in its CUDA provider; the release alone does not tell, because builds differ by platform."""
    archs = known_or(on.framework.kernels, ())
    return GpuCode.compiled_for(archs, lambda capability: covers(archs, capability) is not None) if archs else None


def _fixes(on: OnFramework, code: GpuCode, gpu: Gpu) -> tuple[Fix, ...]:
    newer = ONNXRUNTIME.fitting(on) if side(code.archs, present(gpu.capability)) == "newer" else ()
    other = (
        "Build ONNX Runtime from source with CMAKE_CUDA_ARCHITECTURES for this GPU, or use CPUExecutionProvider: "
        "https://onnxruntime.ai/docs/build/eps.html#cuda"
    )
    return newer or (Fix(other),)


_OTHERS = "This build of ONNX Runtime was compiled for other compute capabilities than this GPU's."

arch_missing = builds.arch_missing(
    ONNXRUNTIME,
    __name__,
    code=_code,
    fixes=_fixes,
    cause=_OTHERS,
    by_side={
        "newer": "GPU code runs only within the major compute capability that it was compiled for, and PTX of one chip "
        "alone (compute_90a, as in 1.23.0) runs on no later one: a session starts, and its first kernel fails with "
        "cudaErrorNoKernelImageForDevice.",
        "older": "Its kernels start with a newer generation: a session starts, and its first kernel fails with "
        "cudaErrorNoKernelImageForDevice.",
        "between": _OTHERS,
    },
    references=(
        ONNXRUNTIME.docs,
        "https://github.com/microsoft/onnxruntime/pull/26230",
        "https://github.com/microsoft/onnxruntime/issues/26181",
    ),
    caused_by=("python.*", "onnxruntime.both-packages"),
    validated_on=("table 2026-11",),
)
