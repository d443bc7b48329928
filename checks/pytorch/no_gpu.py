"""PyTorch that uses no GPU although one is there and no cause is known."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Gpu
from gpudoctor.fixes.python import torch_verify
from gpudoctor.maybe import known, text_of
from gpudoctor.queries.cause_groups import ENVIRONMENT, SYSTEM
from gpudoctor.queries.frameworks import refusal
from gpudoctor.queries.gpus import amd_gpus, nvidia_gpus
from gpudoctor.targets import OnLive, lives
from gpudoctor.tasks import query


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    return (
        Fix(
            "Look at the exact error in a fresh process, outside of notebooks and launchers that set variables.",
            (query(on.python.path, "-c", "import torch; torch.cuda.init()"),),
            impact="none",
            verify=torch_verify(on.python),
        ),
    )


def _gpus(on: OnLive) -> tuple[Gpu, ...]:
    return {"cuda": nvidia_gpus, "rocm": amd_gpus}.get(text_of(on.framework.variant), lambda _: ())(on.facts)


@check(
    title="PyTorch does not use the GPU",
    severity=Severity.ERROR,
    cause="PyTorch is built for this GPU, and its start of CUDA or HIP fails; its own words say how.",
    fixes=_fixes,
    references=("https://docs.pytorch.org/docs/stable/notes/cuda.html",),
    targets=partial(lives, name="torch"),
    caused_by=(
        *SYSTEM,
        *ENVIRONMENT,
        "pytorch.driver-too-old",
        "pytorch.arch-missing",
        "pytorch.cpu-build",
        "pytorch.wrong-vendor",
        "pytorch.cudnn-mismatch",
        "health.*",
    ),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def no_gpu(on: OnLive) -> Problem | None:
    """A build for the GPU that is there says that none is available."""
    known(on.framework.variant)
    return refusal(on.facts, on.name, on.live, _gpus(on))
