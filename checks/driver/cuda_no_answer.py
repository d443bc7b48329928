"""libcuda does not respond."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.module import hang_fixes
from gpudoctor.maybe import Unknown, known
from gpudoctor.queries.cause_groups import DEAD, FABRIC, SURROUNDINGS
from gpudoctor.targets import nvidia_machine


@check(
    title="cuInit hangs: CUDA does not respond",
    severity=Severity.ERROR,
    cause="A call into the kernel module never returns: the GPU or its firmware (GSP) stopped, another program holds "
    "a lock, or the fabric manager never finishes.",
    fixes=hang_fixes,
    references=("https://docs.nvidia.com/deploy/xid-errors/",),
    targets=nvidia_machine,
    caused_by=(
        *DEAD,
        "driver.nvml-no-answer",
        "device.xid-hardware",
        "device.xid-driver",
        "host.gpu-driver-oops",
        "driver.uptime-hang",
        *FABRIC,
        *SURROUNDINGS,
    ),
    affects=("everything",),
    validated_on=("facts 2026-11",),
    essential=True,
)
def cuda_no_answer(facts: Facts) -> Problem | None:
    """The child that called libcuda had to be killed."""
    cuda = facts.nvidia.cuda
    if cuda.hung is None:
        if isinstance(cuda.code, Unknown) and cuda.died is None:
            known(cuda.code)
        return None
    return Problem(f"libcuda did not respond in time (in {cuda.hung}): every CUDA program hangs there.")
