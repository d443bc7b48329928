"""CUDA_VISIBLE_DEVICES hides every GPU."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.visibility import cuda_fixes
from gpudoctor.queries.visibility import cuda_problem
from gpudoctor.targets import nvidia_machine


@check(
    title="CUDA_VISIBLE_DEVICES hides every GPU",
    severity=Severity.ERROR,
    cause="An empty CUDA_VISIBLE_DEVICES, -1, or an entry that is neither an index nor a UUID hides every GPU: CUDA "
    "stops reading the list at the first invalid entry. Quotation marks count as part of the value.",
    fixes=cuda_fixes,
    references=(
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables",
        "https://github.com/pytorch/pytorch/blob/main/torch/cuda/__init__.py",
    ),
    targets=nvidia_machine,
    caused_by=("driver.cuda-no-answer", "driver.crashes"),
    validated_on=("environment 2026-11", "simulated 2026-11"),
    vendor="nvidia",
)
def cuda_hides_all(facts: Facts) -> Problem | None:
    """The variable is set, CUDA finds no device with it and finds devices without it."""
    return cuda_problem(facts, "malformed", "negative")
