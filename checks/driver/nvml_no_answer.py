"""NVML, and with it nvidia-smi, does not respond."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.module import hang_fixes
from gpudoctor.maybe import Unknown, known
from gpudoctor.queries.cause_groups import DEAD, SURROUNDINGS
from gpudoctor.targets import nvidia_machine


@check(
    title="nvidia-smi hangs: NVML does not respond",
    severity=Severity.ERROR,
    cause="A call into the kernel module never returns: the GPU or its firmware (GSP) stopped, the driver waits for a "
    "lock, or the module is stuck.",
    fixes=hang_fixes,
    references=("https://docs.nvidia.com/deploy/xid-errors/",),
    targets=nvidia_machine,
    caused_by=(
        *DEAD,
        "device.xid-hardware",
        "device.xid-driver",
        "host.gpu-driver-oops",
        "driver.uptime-hang",
        *SURROUNDINGS,
    ),
    affects=("everything",),
    validated_on=("facts 2026-11",),
    essential=True,
)
def nvml_no_answer(facts: Facts) -> Problem | None:
    """The child that called NVML had to be killed."""
    nvml = facts.nvidia.nvml
    if nvml.hung is None:
        if isinstance(nvml.code, Unknown) and nvml.died is None:
            known(nvml.code)
        return None
    return Problem(f"NVML did not respond in time (in {nvml.hung}); nvidia-smi hangs too.")
