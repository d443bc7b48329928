"""The nvcc of a CUDA major that the driver does not support: what it compiles does not run here."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.driver import best_branch, install_driver
from gpudoctor.fixes.toolkit import devel_image, installed_toolkit, new_toolkit
from gpudoctor.knowledge import drivers
from gpudoctor.maybe import known, phrase, present
from gpudoctor.queries.build_toolkit import is_taken
from gpudoctor.queries.cause_groups import CUDA_SYSTEM
from gpudoctor.queries.driver import driver_cuda, driver_runs, driver_words
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.targets import in_container, nvidia_hardware, on_wsl


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    theirs, wanted = present(driver_cuda(facts)), present(facts.toolkits.home.nvcc)
    python = next(iter(facts.pythons), None)
    older = installed_toolkit(facts, theirs) or new_toolkit(facts, python, theirs)
    branch = best_branch(facts, drivers.branch_for(wanted) or 0)
    if in_container(facts) or on_wsl(facts) or branch is None:
        return (*devel_image(facts, theirs), older)
    message = f"Install driver branch {branch}, which supports CUDA {wanted}, then reboot."
    return (install_driver(facts, branch, message=message), older)


@check(
    title="CUDA toolkit is of a newer major version than the driver supports",
    severity=Severity.WARNING,
    cause="A program needs a driver of the CUDA major that it was compiled with, or a newer one: with an older driver "
    "each call of the CUDA runtime returns 35, 'CUDA driver version is insufficient for CUDA runtime version'. "
    "Frameworks from pip and conda have a CUDA runtime of their own and do not use the toolkit's.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html",),
    targets=nvidia_hardware,
    caused_by=("cuda.home-stale", *CUDA_SYSTEM),
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
)
def nvcc_needs_newer_driver(facts: Facts) -> Problem | None:
    """The chosen nvcc's major is newer than that of the driver; advice where a framework brings its own runtime."""
    home = facts.toolkits.home
    nvcc = known(home.nvcc) if is_taken(facts) else None
    if nvcc is None or not visible_gpus(facts) or facts.nvidia.cuda.code != 0:
        return None
    theirs = known(driver_cuda(facts))
    if theirs is None or driver_runs(nvcc, theirs):
        return None
    where = phrase(" ({}, from ", home.path) + f"{home.found_by})"
    message = (
        f"nvcc {nvcc}{where} compiles programs that do not run here: the {driver_words(facts)} does not support CUDA "
        f"{nvcc.partition('.')[0]}."
    )
    own = any(one.variant == "cuda" for python in facts.pythons for one in python.frameworks)
    return Problem(message, severity=Severity.ADVICE if own else None)
