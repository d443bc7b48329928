"""PyTorch reports that a GPU is available, but counts none or fails to initialize it."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.python import lasting, uninstall
from gpudoctor.maybe import known, known_or, phrases
from gpudoctor.queries.cause_groups import ENVIRONMENT, SYSTEM
from gpudoctor.queries.frameworks import last_words
from gpudoctor.queries.packages import package
from gpudoctor.targets import OnLive, lives

_SMI = "amdsmi"
_COUNT = "import torch; print(torch.cuda.is_available(), torch.cuda.device_count())"
_USE = 'import torch; torch.{0}.init(); print(torch.ones(1, device="{0}") * 2)'
_SMI_CAUSE = (
    "In a build for ROCm, torch.cuda.device_count() asks the module amdsmi where it is installed. PyPI's amdsmi brings "
    "a libamd_smi.so of its own; next to the libraries of AMD's ROCm wheels, which PyTorch loads first, the "
    "symbols of the two mix and amdsmi lists no GPU. Then device_count() is 0 and cuda:0 an 'Invalid device id'."
)


def _counts_by_smi(on: OnLive) -> bool:
    """Whether it counts GPUs by an installed amdsmi, and counts none."""
    return on.framework.variant == "rocm" and on.live.count == 0 and package(on.python, _SMI) is not None


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    if not _counts_by_smi(on):
        use = _USE.format("xpu" if on.framework.variant == "xpu" else "cuda")
        return (Fix("Read the full error in a fresh process.", (verify(on.python, use),), impact="none"),)
    message = (
        f"Uninstall {_SMI}: without it PyTorch counts GPUs by HIP. A program that imports it needs the one of the ROCm "
        f"that PyTorch loads, in its directory share/amd_smi.{lasting(on.facts)}"
    )
    return (Fix(message, (uninstall(on.python, _SMI),), "reinstall-package", verify=verify(on.python, _COUNT)),)


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
        smi = package(on.python, _SMI) if _counts_by_smi(on) else None
        next_to = f" It asks {smi.name} {smi.version}, which brings a second libamd_smi.so." if smi else ""
        message = f"{on.name} reports that a GPU is available, but device_count() is 0.{next_to}"
        return Problem(message, phrases(error or ""), cause=_SMI_CAUSE if smi else None)
    if error is None:
        known(live.error)
        return None
    message = f"{on.name} reports that a GPU is available, but fails to initialize it."
    return Problem(message, phrases(error[:1000], last_words(live)))
