"""A host gcc that nvcc rejects."""

import re

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.toolkit import host_compiler
from gpudoctor.knowledge.host_compilers import newest_gcc
from gpudoctor.maybe import known, phrase, present
from gpudoctor.queries.build_toolkit import is_taken
from gpudoctor.targets import nvidia_hardware
from gpudoctor.tasks import unset

_CHOICES = ("NVCC_CCBIN", "CUDAHOSTCXX", "CXX", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    newest = newest_gcc(present(facts.toolkits.home.nvcc)) or 13
    message = f"Install gcc {newest} next to the other one, and make nvcc use it."
    newer = Fix("Build with a newer CUDA Toolkit of the same major version, which accepts this gcc.")
    return Fix(
        message, host_compiler(facts, newest), "reinstall-package", root=True, undo=(unset("NVCC_CCBIN"),)
    ), newer


@check(
    title="The host's gcc is too new for nvcc",
    severity=Severity.WARNING,
    cause="nvcc compiles host code with gcc, and each toolkit rejects gcc major versions released after it: "
    "'unsupported GNU version'. Installed wheels are not affected.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/cuda/cuda-installation-guide-linux/#host-compiler-support-policy",),
    targets=nvidia_hardware,
    caused_by=("cuda.home-stale", "cuda.nvcc-mismatch"),
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
)
def compiler_too_new(facts: Facts) -> Problem | None:
    """The gcc on PATH is a newer major version than nvcc accepts, and no variable and no gcc next to it is another."""
    home, env = facts.toolkits.home, facts.host.environment
    if not is_taken(facts) or any(env.get(name) for name in _CHOICES):
        return None
    nvcc, own = known(home.nvcc), known(home.own_compiler)
    gcc = re.match(r"gcc ([0-9]{1,9})", own or known(facts.toolkits.cxx_version) or "")
    newest = newest_gcc(nvcc) if nvcc else None
    if gcc is None or newest is None or int(gcc[1]) <= newest:
        return None
    which = f"nvcc {present(nvcc)}" + phrase(" ({})", home.path)
    where = "next to it" if own else "on PATH"
    return Problem(f"{which} accepts gcc up to {newest}; the gcc {where} is {gcc.string}.")
