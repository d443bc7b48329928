"""The GPU is slower than the CPU."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.smoke import again, clocks
from gpudoctor.queries.smoke import OnTests, dtype_of, each, gpu_tests, sentence
from gpudoctor.queries.smoke.cause_groups import SLOW
from gpudoctor.queries.smoke.speed import idle

_LARGE = "speed-up 256"  # a small batch is bound by kernel launches, on the fastest GPU too


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    message = "Compare with a larger network or batch: a small one may run best on the CPU."
    return clocks(on.gpu, on.run), Fix(message, (), impact="none", verify=again(on.run, "inference"))


def _slower(test: SmokeTest) -> str | None:
    speed_up = test.figure(_LARGE)
    return f"{speed_up:.2f} times its speed in {dtype_of(test)}" if speed_up is not None and speed_up < 1 else None


@check(
    title="GPU slower than the CPU",
    severity=Severity.WARNING,
    cause="At batch size 256 a small network runs no faster than on the CPU: kernel launches are slow, the clocks "
    "stay low, or the work does not run on the GPU.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html",),
    targets=partial(gpu_tests, name="inference", figure=_LARGE),
    caused_by=(*SLOW, "smoke.slow-matmul", "smoke.tensor-cores-idle", "smoke.slow-memory"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def slower_than_cpu(on: OnTests) -> Problem | None:
    """The speedup at the large batch; a bare driver's simple kernels are not judged."""
    if on.run.backend == "driver":
        return None
    found = each(on.tests, _slower)
    if not found:
        return None
    idle(on.facts, on.run)
    return Problem(sentence(f"{on.name} classifies 256 digits more slowly than the CPU: {', '.join(found)}."))
