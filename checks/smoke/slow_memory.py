"""The GPU's memory is slow."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.smoke import again, clocks
from gpudoctor.queries.smoke import OnTests, gpu_tests, sentence
from gpudoctor.queries.smoke.cause_groups import SLOW
from gpudoctor.queries.smoke.speed import memory_lines, share


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    command = again(on.run, "bandwidth")
    message = "Run the test again with nothing else on the GPU; if it stays slow, have the card inspected."
    return clocks(on.gpu, on.run), Fix(message, (command,), impact="none", verify=command)


@check(
    title="Low GPU memory bandwidth",
    severity=Severity.ERROR,
    cause="Copies within GPU memory reach far less than the data sheet's bandwidth: the memory clock is throttled, "
    "part of the memory is disabled after errors, or others use it.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html#effective-bandwidth-calculation",
        "https://docs.nvidia.com/datacenter/dcgm/latest/user-guide/dcgm-diagnostics.html",
    ),
    targets=partial(gpu_tests, name="bandwidth", figure="copy"),
    caused_by=(*SLOW, "smoke.corrected-ecc"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def slow_memory(on: OnTests) -> Problem | None:
    """The best of copy, triad and read, compared with the data sheet."""
    (test, *_) = on.tests
    reached = [found for name in ("copy", "triad", "read") if (found := share(on.on, test, name))]
    best = max(reached, key=lambda one: one.part)
    severity = memory_lines(on.on).severity(best.part)
    if severity is None:
        return None
    return Problem(sentence(f"{on.name} reaches {best.words} of memory bandwidth."), severity=severity)
