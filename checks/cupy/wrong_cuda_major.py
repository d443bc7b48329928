"""CuPy for one CUDA major next to the libraries of another."""

from gpudoctor.checks.cupy import CUPY
from gpudoctor.families import builds
from gpudoctor.maybe import text_of
from gpudoctor.queries.cupy import missing
from gpudoctor.queries.libraries import cuda_majors
from gpudoctor.queries.packages import major
from gpudoctor.targets import OnFramework


def _there(on: OnFramework, other: str) -> str | None:
    """The majors that are installed, and where; where CuPy's own is among them, it is only not found."""
    majors = cuda_majors(on.facts, on.python)
    if major(text_of(on.framework.cuda)) in majors:
        return None
    return ", ".join(f"CUDA {number} in {place}" for number, place in majors.items()) or other


wrong_cuda_major = builds.wrong_cuda_major(
    CUPY,
    __name__,
    missing=missing,
    causes=("cupy.several-packages", "cupy.driver-too-old"),
    there=_there,
    cause="Each CuPy package is for one CUDA major, whose libraries it opens by name; those of another major do not "
    "match. That PyTorch finds its libraries proves nothing, as CuPy searches elsewhere.",
    references=(CUPY.docs, "https://github.com/BLAST-WarpX/warpx/issues/4621"),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
