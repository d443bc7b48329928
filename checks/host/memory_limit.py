"""A cgroup limits memory to far less than the GPU has, or its processes were killed at the limit."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.container import again, engine
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.containers import size
from gpudoctor.targets import gpus_of, in_container, machine
from gpudoctor.tasks import cmd, lines, query
from gpudoctor.tasks.placeholders import REST

_POD = """spec:
  containers:
    - name: ...
      resources:
        requests:
          memory: 128Gi
        limits:
          memory: 128Gi"""
_KILLED = (
    "A cgroup's limit counts all of its processes, their page cache and shared memory (/dev/shm). When it is reached, "
    "the kernel's OOM killer (out of memory) ends a process of that cgroup with SIGKILL ('Killed', exit code 137), "
    "however much memory the machine has free; a model's weights usually pass through host memory."
)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if in_container(facts):
        if engine(facts) == "kubernetes":
            return (
                again(
                    "Raise the memory limit in the resources of the pod's container, above what the program needs to "
                    "load its model.",
                    lines(_POD),
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
    title="cgroup memory limit is too small for the GPU's models",
    severity=Severity.ADVICE,
    cause="Weights usually pass through host memory on their way to the GPU. With a cgroup limit far below the GPU's "
    "memory, a program that loads a model of the GPU's size is killed (SIGKILL, exit code 137).",
    fixes=_fixes,
    references=("https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files",),
    targets=machine,
    only_with=("gpus", "host.memory_limit host.memory_kills"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def memory_limit(facts: Facts) -> str | Problem | None:
    """The limit is less than half of the largest GPU's memory, or programs were killed at it."""
    gpus = gpus_of(facts)
    if not gpus:
        return None
    kills = known_or(facts.host.memory_kills, None)
    if kills:
        found = known_or(facts.host.memory_limit, None)
        at = f" of {size(found)}" if found else ""
        times = "once" if kills == 1 else f"{kills} times"
        message = f"The OOM killer ended processes of this cgroup {times}, when its memory limit{at} was reached."
        return Problem(message, (f"memory.events: oom_kill {kills}",), _KILLED, severity=Severity.WARNING)
    sizes = [g.memory for g in gpus if isinstance(g.memory, int) and g.integrated is not True]
    limit = known(facts.host.memory_limit) if sizes else None
    if limit is None or limit * 2 >= max(sizes):
        return None
    return f"The cgroup limits memory to {size(limit)}; the GPU has {size(max(sizes))}."
