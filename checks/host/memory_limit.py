"""A cgroup limits memory to far less than the GPU has."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.container import again, engine
from gpudoctor.maybe import known
from gpudoctor.queries.containers import size
from gpudoctor.targets import gpus_of, in_container, machine
from gpudoctor.tasks import cmd, query
from gpudoctor.tasks.placeholders import REST


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if in_container(facts):
        if engine(facts) == "kubernetes":
            return (
                again(
                    "Raise the memory limit in the resources of the pod's container.",
                    verify=query("cat", "/sys/fs/cgroup/memory.max"),
                ),
            )
        return (
            again(
                "Start the container with more memory.",
                cmd("docker", "run", "--memory=64g", REST),
                verify=query("free", "-h"),
            ),
        )
    job = Fix(
        "Request more memory from the scheduler.",
        (cmd("srun", "--mem=64G", "--gpus=1", "--pty", "bash", person=True),),
        needs="a new job",
    )
    if "SLURM_JOB_ID" in facts.host.environment:
        return (job,)
    return (
        Fix(
            "Raise the limit (MemoryMax) of the service or slice.",
            (query("systemctl", "show", "-p", "MemoryMax", "user.slice"),),
        ),
    )


@check(
    title="cgroup memory limit is smaller than the GPU's memory",
    severity=Severity.ADVICE,
    cause="Weights usually pass through host memory on their way to the GPU. With a cgroup limit far below the GPU's "
    "memory, a program that loads a model of the GPU's size is killed (SIGKILL, exit code 137).",
    fixes=_fixes,
    references=("https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files",),
    targets=machine,
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def memory_limit(facts: Facts) -> str | None:
    """The limit is less than half of the largest GPU's memory."""
    sizes = [g.memory for g in gpus_of(facts) if isinstance(g.memory, int) and g.integrated is not True]
    if not sizes:
        return None
    limit = known(facts.host.memory_limit)
    if limit is None or limit * 2 >= max(sizes):
        return None
    return f"The cgroup limits memory to {size(limit)}; the GPU has {size(max(sizes))}."
