"""A compiled kernel gives no speedup."""

from functools import partial

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.smoke import again
from gpudoctor.queries.smoke import OnTests, dtype_of, each, gpu_tests, sentence
from gpudoctor.queries.smoke.cause_groups import SLOW
from gpudoctor.queries.smoke.speed import idle

# Unfused, the operations move four times the bytes; a compiled kernel that is far below that speedup does not
# fuse them.
_LITTLE = 1.2


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    verify = again(on.run, "fused")
    message = "See what the compiler generates; TORCH_LOGS shows why operations are not fused."
    look = (
        (msgspec.structs.replace(verify, env=(("TORCH_LOGS", "graph_breaks,fusion"),)),)
        if on.run.backend == "pytorch"
        else ()
    )
    return (Fix(message, look, impact="none", verify=verify),)


def _little(test: SmokeTest) -> str | None:
    speed_up = test.figure("speed-up")
    return f"{dtype_of(test)} {speed_up:.1f} times" if speed_up is not None and speed_up < _LITTLE else None


@check(
    title="JIT-compiled kernels give no speedup",
    severity=Severity.ADVICE,
    cause="A chain of elementwise operations, fused into one kernel, reads and writes memory once instead of four "
    "times. Here it is hardly faster, so the operations were not fused.",
    fixes=_fixes,
    references=("https://docs.pytorch.org/docs/stable/torch.compiler.html",),
    targets=partial(gpu_tests, name="fused", figure="speed-up"),
    caused_by=(*SLOW, "smoke.fused-wrong"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def fused_not_faster(on: OnTests) -> Problem | None:
    """The speedup over the unfused operations."""
    found = each(on.tests, _little)
    if not found:
        return None
    idle(on.facts, on.run)
    return Problem(sentence(f"{on.name} gains little from compiled kernels: {'; '.join(found)} the uncompiled speed."))
