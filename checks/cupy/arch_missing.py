"""CuPy without code for a GPU's compute capability."""

from gpudoctor.checks.cupy import CUPY
from gpudoctor.families import builds
from gpudoctor.families.builds import GpuCode
from gpudoctor.knowledge import cupy
from gpudoctor.queries.cupy import on_nvidia
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import OnFramework


def _code(on: OnFramework) -> GpuCode | None:
    """What the package is compiled for; of a build from source, what NVRTC of its CUDA still supports."""
    name, cuda = on.framework.distribution or "", on.framework.cuda
    if not on_nvidia(on):
        return None
    if name == "cupy" and isinstance(cuda, str) and (row := cupy.package_for(numbers(cuda)[0])):
        oldest = row.targets.partition(" ")[0]
        why = f"the NVRTC of CUDA {row.major}, which compiles its kernels, supports {oldest} and newer"
        return GpuCode(lambda capability: numbers(capability) >= numbers(oldest), lambda _: why)
    row = cupy.package(name)
    if row is None:
        return None
    return GpuCode(
        lambda capability: cupy.kernels_for(row.name, capability) is not None,
        lambda _: f"it is compiled for {row.targets}",
    )


arch_missing = builds.arch_missing(
    CUPY,
    __name__,
    code=_code,
    cause="CUDA 13 dropped GPUs before Turing (compute capability 7.5), and with it CuPy's package for CUDA 13: "
    "neither its own kernels nor NVRTC support them. The package for CUDA 12 does.",
    references=(CUPY.docs, "https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/index.html"),
    caused_by=("python.*", "cupy.several-packages", "cupy.wrong-cuda-major"),
    validated_on=("simulated 2026-11",),
)
