"""A batch job without a GPU, on a node that has some."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.cluster import ask_for_gpu
from gpudoctor.maybe import known_or
from gpudoctor.queries.clusters import jobs, system
from gpudoctor.queries.containers import gpu_nodes, has_cuda_wheel
from gpudoctor.targets import in_container


@check(
    title="The batch job has no GPU",
    severity=Severity.ERROR,
    cause="A batch system denies jobs that did not request GPUs access to the device nodes, through the job's control "
    "group (cgroup): the nodes exist, and opening them returns EPERM. NVML then lists no GPU, and cuInit finds no "
    "device.",
    fixes=ask_for_gpu,
    references=(
        "https://slurm.schedmd.com/gres.html",
        "https://slurm.schedmd.com/cgroup.conf.html#OPT_ConstrainDevices",
        "https://www.ibm.com/docs/SSWRJV_10.1.0/lsf_gpu/lsf_gpu_access_enforcement.html",
    ),
    targets=jobs,
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def job_without_gpu(facts: Facts) -> Problem | None:
    """Every node of a GPU returns EPERM; where some can be opened, those are the job's."""
    nodes = gpu_nodes(facts)
    if not nodes or any(node.error != "EPERM" for node in nodes):
        return None
    job, granted = known_or(facts.cluster.job, None), known_or(facts.cluster.granted, None)
    if granted and in_container(facts):
        return None  # the job has GPUs, and the container's own cgroup denies access
    whose = f"{system(facts)}'s job {job}" if job else f"{system(facts)}'s job"
    asked = "whose step was given none of its GPUs" if granted else "which was given no GPU"
    which = f"all {len(nodes)} of the node's GPUs are" if len(nodes) > 1 else "the node's only GPU is"
    message = f"This is {whose}, {asked}: {which} closed to it."
    lines = [f"{node.path}: EPERM" for node in nodes[:2]] + ([granted] if granted else [])
    # A job that computes on the CPU needs no GPU.
    wanted = granted or has_cuda_wheel(facts) or not any(p.frameworks for p in facts.pythons)
    return Problem(message, tuple(lines), severity=None if wanted else Severity.WARNING)
