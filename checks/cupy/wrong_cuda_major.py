"""CuPy for one CUDA major beside the libraries of another."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import reinstall_cupy
from gpudoctor.maybe import phrase, present
from gpudoctor.queries.cupy import missing
from gpudoctor.queries.libraries import cuda_majors, other_majors
from gpudoctor.queries.packages import major
from gpudoctor.targets import OnFramework, cupys


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    return reinstall_cupy(on.facts, on.python, present(on.framework.distribution))


@check(
    title="CuPy is built for another CUDA major than the installed libraries",
    severity=Severity.ERROR,
    cause="Each CuPy package is for one CUDA major, whose libraries it opens by name; those of another major do not "
    "serve. Torch's success proves nothing, as CuPy looks elsewhere.",
    fixes=_fixes,
    references=(
        "https://docs.cupy.dev/en/stable/install.html",
        "https://github.com/BLAST-WarpX/warpx/issues/4621",
    ),
    targets=cupys,
    caused_by=("python.*", "cupy.several-packages", "cupy.driver-too-old"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def wrong_cuda_major(on: OnFramework) -> Problem | None:
    """CUDA's run-time libraries are there, but only in another major."""
    lacking = missing(on)
    others = other_majors(on.facts, on.python, lacking)
    if not lacking or not others:
        return None
    own = major(on.framework.cuda) if isinstance(on.framework.cuda, str) else None
    majors = cuda_majors(on.facts, on.python)
    if own in majors:
        return None
    first = next(iter(others))
    there = ", ".join(f"CUDA {number} in {place}" for number, place in majors.items()) or others[first]
    name = (on.framework.distribution or "CuPy") + phrase(" {}", on.framework.version)
    message = f"{name} is for CUDA {present(own)} and needs {first}, which is not "
    message += f"found; installed is {there}."
    return Problem(message, tuple(f"{wanted} is missing, {other} is there" for wanted, other in others.items())[:6])
