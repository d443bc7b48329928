"""CUDA_VISIBLE_DEVICES lists a UUID that no GPU has."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.visibility import cuda_fixes
from gpudoctor.queries.visibility import cuda_problem
from gpudoctor.targets import nvidia_machine


@check(
    title="CUDA_VISIBLE_DEVICES lists a UUID that no GPU here has",
    severity=Severity.ERROR,
    cause="A UUID belongs to one board or one MIG instance. After a board is replaced, after MIG instances are "
    "recreated, or on another node, the old UUID matches no GPU, and CUDA stops reading the list there.",
    fixes=cuda_fixes,
    references=("https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables",),
    targets=nvidia_machine,
    caused_by=("driver.cuda-no-answer", "driver.crashes"),
    validated_on=("environment 2026-11", "simulated 2026-11"),
    vendor="nvidia",
)
def cuda_unknown_uuid(facts: Facts) -> Problem | None:
    """The first invalid entry is a UUID that matches no GPU, or several."""
    return cuda_problem(facts, "uuid", "ambiguous")
