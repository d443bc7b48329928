"""JAX that does not import."""

from functools import partial

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.fixes.imports import install_again
from gpudoctor.queries.frameworks import import_problem
from gpudoctor.targets import OnLive, lives


@check(
    title="JAX does not import",
    severity=Severity.ERROR,
    cause="One of its libraries, or of the packages that it needs, is missing, damaged or of another version.",
    fixes=install_again,
    references=("https://docs.jax.dev/en/latest/installation.html",),
    targets=partial(lives, name="jax"),
    caused_by=(
        "python.*",
        "python.numpy-2",
        "libraries.*",
        "packages.*",
        "host.*",
        "jax.cpu-only",
        "jax.plugin-skew",
        "jax.driver-too-old",
        "jax.arch-missing",
        "jax.cudnn-too-old",
    ),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def import_fails(on: OnLive) -> Problem | None:
    """The import raises."""
    return import_problem(on)
