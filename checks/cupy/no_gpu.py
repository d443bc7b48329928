"""CuPy that uses no GPU although one is there and no cause is known."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import cupy_verify
from gpudoctor.maybe import known
from gpudoctor.queries.cause_groups import ENVIRONMENT, SYSTEM
from gpudoctor.queries.frameworks import refusal
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.targets import OnLive, lives


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    message = "Look at the exact messages in a fresh process, outside of notebooks and launchers that set variables."
    return (Fix(message, (cupy_verify(on.python),), impact="none"),)


@check(
    title="CuPy does not use the GPU",
    severity=Severity.ERROR,
    cause="It is built for this GPU, and its start of CUDA fails; its own words say how.",
    fixes=_fixes,
    references=("https://docs.cupy.dev/en/stable/install.html",),
    targets=partial(lives, name="cupy"),
    caused_by=(
        *SYSTEM,
        *ENVIRONMENT,
        "health.*",
        "cupy.several-packages",
        "cupy.wrong-cuda-major",
        "cupy.headers-missing",
        "cupy.nvrtc-missing",
        "cupy.driver-too-old",
        "cupy.arch-missing",
        "cupy.import-fails",
        "cupy.crashes",
    ),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def no_gpu(on: OnLive) -> Problem | None:
    """A build for CUDA beside an NVIDIA GPU says that none is available."""
    if known(on.framework.variant) != "cuda":
        return None
    return refusal(on.facts, on.name, on.live, nvidia_gpus(on.facts))
