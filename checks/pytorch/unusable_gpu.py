"""PyTorch reports that a GPU is available, but counts none or fails to initialize it."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import verify
from gpudoctor.maybe import known, known_or, phrases
from gpudoctor.queries.cause_groups import ENVIRONMENT, SYSTEM
from gpudoctor.queries.frameworks import last_words
from gpudoctor.targets import OnLive, lives

_USE = 'import torch; torch.{0}.init(); print(torch.ones(1, device="{0}") * 2)'


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    use = _USE.format("xpu" if on.framework.variant == "xpu" else "cuda")
    return (Fix("Read the full error in a fresh process.", (verify(on.python, use),), impact="none"),)


@check(
    title="PyTorch reports a GPU as available but cannot use it",
    severity=Severity.ERROR,
    cause="is_available() of torch.cuda, or of torch.xpu for Intel, asks the runtime; device_count() may ask the "
    "vendor's management library (NVML, amdsmi), and only initialization makes the GPU usable. Where they disagree, "
    "programs fail at their first tensor.",
    fixes=_fixes,
    references=(
        "https://github.com/pytorch/pytorch/issues/186516",
        "https://github.com/ROCm/rocm-systems/issues/7643",
    ),
    targets=partial(lives, name="torch"),
    caused_by=(*SYSTEM, "intel.*", *ENVIRONMENT, "health.*", "pytorch.driver-too-old", "pytorch.arch-missing"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def unusable_gpu(on: OnLive) -> Problem | None:
    """It is imported and reports a GPU as available, but its count is 0, or its initialization raises."""
    live = on.live
    if live.import_error or live.died or live.hung or known(live.available) is not True:
        return None
    error = known_or(live.error, None)
    if known(live.count) == 0:
        message = f"{on.name} reports that a GPU is available, but device_count() is 0."
        return Problem(message, phrases(error or ""))
    if error is None:
        known(live.error)
        return None
    message = f"{on.name} reports that a GPU is available, but fails to initialize it."
    return Problem(message, phrases(error[:1000], last_words(live)))
