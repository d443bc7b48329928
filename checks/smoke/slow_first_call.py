"""The first product took many seconds."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.smoke import again, updated
from gpudoctor.queries.smoke import OnTests, cuda_tests, dtype_of, each, sentence
from gpudoctor.tasks import export, unset

# Loading the library and its kernel takes 0.05 to 0.5 s; compiling a library's kernels from PTX takes many seconds.
_LONG = 10.0
# XLA tries many kernels before the first product, which takes seconds and is meant to.
_LOADS = ("pytorch", "cupy")


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    verify = again(on.run, "matmul")
    message = "Give the driver's cache of compiled kernels room on a local disk, so that they are compiled once."
    cache = (
        export("CUDA_CACHE_PATH", "/var/tmp/cuda-cache"),
        export("CUDA_CACHE_MAXSIZE", "4294967296"),
    )
    return (
        *updated(on.facts, on.run, verify),
        Fix(
            message,
            cache,
            "change-environment",
            undo=(unset("CUDA_CACHE_PATH"), unset("CUDA_CACHE_MAXSIZE")),
            verify=verify,
        ),
    )


def _long(test: SmokeTest) -> str | None:
    first = test.figure("first call")
    return f"{first:.0f} s in {dtype_of(test)}" if first is not None and first > _LONG else None


@check(
    title="The first product takes many seconds",
    severity=Severity.WARNING,
    cause="The library holds no machine code for this GPU, so that the driver compiles its kernels from PTX when "
    "they are first used; or the library is read from a very slow disk.",
    fixes=_fixes,
    references=("https://developer.nvidia.com/blog/cuda-pro-tip-understand-fat-binaries-jit-caching/",),
    targets=partial(cuda_tests, name="matmul", figure="first call"),
    caused_by=(
        "pytorch.arch-missing",
        "tensorflow.arch-missing",
        "cupy.arch-missing",
        "jax.arch-missing",
        "smoke.busy",
    ),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def slow_first_call(on: OnTests) -> Problem | None:
    """Seconds of the first call of each type, with loading and compiling."""
    if on.run.backend not in _LOADS:
        return None
    found = each(on.tests, _long)
    if not found:
        return None
    return Problem(sentence(f"The first product of {on.name} took {', '.join(found)}."))
