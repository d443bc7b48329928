"""ROCm's runtime hangs when it starts: rocminfo does not end."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.fixes import rocr
from gpudoctor.queries.cause_groups import ROCR
from gpudoctor.queries.rocr import OnRocr, asked_rocr


@check(
    title="ROCm's runtime hangs (rocminfo does not end)",
    severity=Severity.ERROR,
    cause="ROCm's runtime (ROCr) waits for the kernel's compute driver (KFD), which does not respond: a GPU hung or "
    "could not be woken, the driver is locked by a reset, or it does not fit the machine.",
    fixes=rocr.start,
    references=(
        "https://github.com/ROCm/legacy-rocm-build/issues/850",
        "https://github.com/ROCm/legacy-rocm-build/issues/4226",
    ),
    targets=asked_rocr,
    caused_by=ROCR,
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def rocminfo_hangs(on: OnRocr) -> Problem | None:
    """It did not end within its full time, which is many times what it takes; a WARNING where others work."""
    if not on.rocr.hung:
        return None
    return Problem(
        f"rocminfo did not end: ROCm's runtime hangs when it starts. {on.consequence}",
        on.rocr.lines,
        severity=on.severity,
    )
