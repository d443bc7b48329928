"""CUDA_VISIBLE_DEVICES names a GPU twice."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.visibility import cuda_fixes
from gpudoctor.queries.visibility import cuda_problem
from gpudoctor.targets import nvidia_machine


@check(
    title="CUDA_VISIBLE_DEVICES names a GPU twice",
    severity=Severity.ERROR,
    cause="A list with a repeated entry is an error to CUDA, which then shows no device at all. One GPU cannot be "
    "given to a program twice.",
    fixes=cuda_fixes,
    references=("https://github.com/pytorch/pytorch/blob/main/torch/cuda/__init__.py",),
    targets=nvidia_machine,
    caused_by=("driver.cuda-no-answer", "driver.crashes"),
    validated_on=("simulated 2026-11",),
)
def cuda_duplicates(facts: Facts) -> Problem | None:
    """An entry is repeated, and CUDA shows no device."""
    return cuda_problem(facts, "twice")
