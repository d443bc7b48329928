"""The first matmul took many seconds."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.smoke import again, updated
from gpudoctor.queries.smoke import OnTests, cuda_tests, dtype_of, each, sentence
from gpudoctor.tasks import export, unset

# Loading the library and its kernel takes 0.05 to 0.5 s; compiling a library's kernels from PTX takes many seconds.
_LONG = 10.0
# XLA autotunes many kernels before the first matmul, which is meant to take seconds.
_LOADS = ("pytorch", "cupy")


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    verify = again(on.run, "matmul")
    message = (
        "Put the driver's compute cache on a local disk with enough space, so that kernels are compiled only once."
    )
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
    title="The first matmul takes many seconds",
    severity=Severity.WARNING,
    cause="The library has no machine code for this GPU, so the driver JIT-compiles its kernels from PTX on first "
    "use; or the library is on a very slow disk.",
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
    """Seconds of the first call of each type, including loading and compiling."""
    if on.run.backend not in _LOADS:
        return None
    found = each(on.tests, _long)
    if not found:
        return None
    return Problem(sentence(f"The first matmul of {on.name} took {', '.join(found)}."))
