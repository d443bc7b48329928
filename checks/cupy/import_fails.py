"""CuPy that does not import."""

from functools import partial

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.fixes.imports import install_again
from gpudoctor.queries.frameworks import import_problem
from gpudoctor.targets import OnLive, lives


@check(
    title="CuPy does not import",
    severity=Severity.ERROR,
    cause="One of its libraries, or of the packages that it needs, is missing, damaged or of another version.",
    fixes=install_again,
    references=("https://docs.cupy.dev/en/stable/install.html",),
    targets=partial(lives, name="cupy"),
    caused_by=(
        "python.*",
        "python.numpy-2",
        "libraries.*",
        "packages.*",
        "host.*",
        "cupy.several-packages",
        "cupy.wrong-cuda-major",
        "cupy.headers-missing",
        "cupy.nvrtc-missing",
        "cupy.driver-too-old",
        "cupy.arch-missing",
    ),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def import_fails(on: OnLive) -> Problem | None:
    """The import raises."""
    return import_problem(on)
