"""A compiled kernel computes wrong numbers."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.smoke import again, updated
from gpudoctor.queries.smoke import OnTests, dtype_of, each, sentence, smoke_tests
from gpudoctor.queries.smoke.cause_groups import wrong_before
from gpudoctor.tasks import Shell, cmd

# Elementwise in float32, kept away from zero: rounding makes 1e-7, an approximated error function some 1e-6.
_MOST = 1e-5


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    verify = again(on.run, "fused")
    clear = "Clear the compiled kernel caches, and run the test again."
    commands = (cmd("rm", "-r", "~/.triton/cache"), Shell('rm -r "/tmp/torchinductor_$USER"'))
    return (Fix(clear, commands, verify=verify), *updated(on.facts, on.run, verify))


def _wrong(test: SmokeTest) -> str | None:
    error = test.figure("error")
    return None if error is None or error <= _MOST else f"{error:.1e} in {dtype_of(test)}"


@check(
    title="Wrong results from a JIT-compiled kernel",
    severity=Severity.ERROR,
    cause="The compiled kernel and float64 on the CPU differ by more than float32 rounding: the compiler, its cache "
    "or the GPU is at fault.",
    fixes=_fixes,
    references=("https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html",),
    targets=partial(smoke_tests, name="fused", figure="error"),
    caused_by=wrong_before("smoke.fused-wrong"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def fused_wrong(on: OnTests) -> Problem | None:
    """The largest relative difference over a sample of the elements."""
    found = each(on.tests, _wrong)
    if not found:
        return None
    return Problem(
        sentence(f"{on.name} computes wrong results in compiled kernels: off by {'; '.join(found)} at worst.")
    )
