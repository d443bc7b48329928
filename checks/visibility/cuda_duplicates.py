"""CUDA_VISIBLE_DEVICES lists a GPU twice."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.visibility import cuda_fixes
from gpudoctor.queries.visibility import cuda_problem
from gpudoctor.targets import nvidia_machine


@check(
    title="CUDA_VISIBLE_DEVICES lists a GPU twice",
    severity=Severity.ERROR,
    cause="CUDA treats a list with a repeated entry as an error and shows no device at all. A program cannot use one "
    "GPU twice.",
    fixes=cuda_fixes,
    references=("https://github.com/pytorch/pytorch/blob/main/torch/cuda/__init__.py",),
    targets=nvidia_machine,
    caused_by=("driver.cuda-no-answer", "driver.crashes"),
    validated_on=("table 2026-11",),
    vendor="nvidia",
)
def cuda_duplicates(facts: Facts) -> Problem | None:
    """An entry is repeated, and CUDA shows no device."""
    return cuda_problem(facts, "twice")
