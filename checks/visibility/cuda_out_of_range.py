"""CUDA_VISIBLE_DEVICES lists a GPU that does not exist."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.visibility import cuda_fixes
from gpudoctor.queries.visibility import cuda_problem
from gpudoctor.targets import nvidia_machine


@check(
    title="CUDA_VISIBLE_DEVICES lists a GPU that does not exist",
    severity=Severity.ERROR,
    cause="Indices count from 0 over the GPUs of this machine, job or container. CUDA stops reading the list at the "
    "first index that is out of range, so this entry and all after it select no GPU.",
    fixes=cuda_fixes,
    references=("https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables",),
    targets=nvidia_machine,
    caused_by=("driver.cuda-no-answer", "driver.crashes"),
    validated_on=("simulated 2026-11",),
    vendor="nvidia",
)
def cuda_out_of_range(facts: Facts) -> Problem | None:
    """The first invalid entry is an index beyond the last GPU."""
    return cuda_problem(facts, "index")
