"""The address space limit (ulimit -v) is too small for CUDA."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known
from gpudoctor.queries.containers import size
from gpudoctor.targets import gpus_of, machine
from gpudoctor.tasks import Shell, query

# CUDA_ERROR_OUT_OF_MEMORY
OUT_OF_MEMORY = 2


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    job = "SLURM_JOB_ID" in facts.host.environment or "SGE_TASK_ID" in facts.host.environment
    asked = (
        "In a batch job, request a memory limit instead of a virtual memory limit (Grid Engine: h_vmem)." if job else ""
    )
    return (
        Fix(
            f"Remove the limit (ulimit -v). {asked}".strip(),
            (
                Shell("ulimit -v unlimited"),
                query("grep", "-rn", "-e", "^[^#].* as ", "/etc/security/limits.conf", "/etc/security/limits.d"),
            ),
            "change-environment",
            needs="restart of the program",
            verify=Shell("ulimit -v"),
        ),
    )


@check(
    title="Address space limit (ulimit -v) is too small for CUDA",
    severity=Severity.WARNING,
    cause="CUDA reserves virtual addresses for the memory of all GPUs and of the host, many times what it uses. A "
    "virtual memory limit (ulimit -v) counts these addresses as if they were memory: CUDA returns out of memory "
    "although nearly all memory is free.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/cuda-python/pull/2458",
        "https://man7.org/linux/man-pages/man2/getrlimit.2.html",
    ),
    targets=machine,
    only_with=("gpus", "host.address_space"),
    caused_by=("device.*",),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def address_space_limit(facts: Facts) -> Problem | None:
    """Less than the memory of the largest GPU may be mapped; an error where cuInit has failed with out of memory."""
    sizes = [g.memory for g in gpus_of(facts, "nvidia") if isinstance(g.memory, int)]
    if not sizes:
        return None
    limit = known(facts.host.address_space)
    if limit is None or limit >= 2 * max(sizes):
        return None
    failed = facts.nvidia.cuda.code == OUT_OF_MEMORY
    message = f"A process may map only {size(limit)} (ulimit -v); CUDA maps more than the GPU's {size(max(sizes))}."
    return Problem(
        f"{message} cuInit fails with out of memory." if failed else message,
        severity=Severity.ERROR if failed else None,
    )
