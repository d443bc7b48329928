"""JAX that uses no GPU although one is there and no cause is known."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import jax_verify
from gpudoctor.maybe import known
from gpudoctor.queries.cause_groups import ENVIRONMENT, SYSTEM
from gpudoctor.queries.frameworks import refusal
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.targets import OnLive, lives


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    message = "Look at the exact messages in a fresh process, outside of notebooks and launchers that set variables."
    return (Fix(message, (jax_verify(on.python),), impact="none"),)


@check(
    title="JAX does not use the GPU",
    severity=Severity.ERROR,
    cause="It is built for this GPU, and its start of CUDA fails; its own words say how.",
    fixes=_fixes,
    references=("https://docs.jax.dev/en/latest/installation.html",),
    targets=partial(lives, name="jax"),
    caused_by=(
        *SYSTEM,
        *ENVIRONMENT,
        "health.*",
        "jax.cpu-only",
        "jax.plugin-skew",
        "jax.several-plugins",
        "jax.driver-too-old",
        "jax.arch-missing",
        "jax.cudnn-too-old",
        "jax.import-fails",
        "jax.crashes",
    ),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def no_gpu(on: OnLive) -> Problem | None:
    """A build for CUDA beside an NVIDIA GPU says that none is available."""
    if known(on.framework.variant) != "cuda":
        return None
    return refusal(on.facts, on.name, on.live, nvidia_gpus(on.facts))
