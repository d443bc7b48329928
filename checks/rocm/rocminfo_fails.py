"""ROCm's runtime does not start: rocminfo ends with an HSA status."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.fixes import amd, rocr
from gpudoctor.knowledge import rocm
from gpudoctor.maybe import UnknownFactError, known
from gpudoctor.queries.cause_groups import ROCR
from gpudoctor.queries.known_bugs import dkms_bug
from gpudoctor.queries.rocr import OnRocr, asked_rocr, asks_for_kfd


def _opens(on: OnRocr) -> bool:
    """Whether /dev/kfd opens for us."""
    nodes = known(on.facts.amd.kfd)
    return bool(nodes) and known(nodes[0].error) is None


@check(
    title="ROCm's runtime does not start (rocminfo fails)",
    severity=Severity.ERROR,
    cause="Before a program can use an AMD GPU, ROCm's runtime (ROCr) opens /dev/kfd, reads the kernel's list of GPUs "
    "and sets up each of them. If one of these steps fails, hsa_init returns an error, and HIP, PyTorch and OpenCL "
    "report that there is no GPU (hipErrorNoDevice).",
    fixes=rocr.start,
    references=(
        "https://github.com/ROCm/legacy-rocm-build/issues/5433",
        "https://github.com/ROCm/legacy-rocm-build/issues/783",
        "https://github.com/ROCm/legacy-rocm-build/issues/4226",
        "https://github.com/ROCm/rocm-systems/issues/6883",
        rocr.RYZEN,
        amd.POST_INSTALL,
    ),
    targets=asked_rocr,
    caused_by=ROCR,
    affects=("everything",),
    validated_on=("facts 2026-11",),
)
def rocminfo_fails(on: OnRocr) -> Problem | None:
    """It named the call that failed or cannot open /dev/kfd, or a signal ended it; a WARNING where others work."""
    one = on.rocr
    if one.died:
        how = f"crashes with {one.died}"
    elif one.status:
        how = f"fails with {one.status}"
    elif asks_for_kfd(one):
        if _opens(on):
            raise UnknownFactError(f"{one.lines[0]}, says rocminfo, but it opens")
        how = "cannot open /dev/kfd"
    else:
        return None
    status = one.status or ""
    bug = dkms_bug(on.facts, (status,), *on.targets)
    known_bug = f" The package amdgpu-dkms {bug.first} has a known bug: {bug.what}." if bug else ""
    means, cause = rocm.start_fails(status), None
    if bug:
        cause = f"Known bug of the package amdgpu-dkms {bug.first}: {bug.what}. {bug.source}"
    elif means:
        cause = f"{status} is {means}."
    message = f"rocminfo {how}: ROCm's runtime does not start.{known_bug} {on.consequence}"
    return Problem(message, one.lines, cause, on.severity)
