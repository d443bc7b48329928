"""Too few CPU cores to feed the GPUs."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.container import again, engine
from gpudoctor.maybe import known
from gpudoctor.queries.advice import computing
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.targets import in_container, nvidia_hardware
from gpudoctor.tasks import cmd, query
from gpudoctor.tasks.placeholders import REST

# One core drives the GPU from Python; without at least one more, none is left to load data.
_EACH = 2


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    cores = 4 * len(visible_gpus(facts))
    if "SLURM_JOB_ID" in facts.host.environment:
        return (
            Fix(
                "Request more cores from the scheduler.",
                (cmd("srun", "--gpus=1", f"--cpus-per-task={cores}", "--pty", "bash", person=True),),
            ),
        )
    if in_container(facts) and engine(facts) == "kubernetes":
        message = f"Raise the CPU limit in the resources of the pod's container to {cores} or more."
        return (again(message, verify=query("nproc")),)
    if in_container(facts):
        message = "Start the container with more cores."
        return (
            again(
                message, cmd("docker", "run", f"--cpus={cores}", REST), verify=query("cat", "/sys/fs/cgroup/cpu.max")
            ),
        )
    return ()


def _given(facts: Facts) -> bool:
    """Whether the number of cores was chosen for this program, and is not simply the machine's."""
    return in_container(facts) or "SLURM_JOB_ID" in facts.host.environment


@check(
    title="Too few CPU cores for the GPUs",
    severity=Severity.ADVICE,
    cause="Python, the DataLoader workers and the driver run on the CPU. With fewer than two cores per GPU, the GPU "
    "waits for data, and its utilization stays low.",
    fixes=_fixes,
    references=("https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading",),
    targets=nvidia_hardware,
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def few_cpus(facts: Facts) -> Problem | None:
    """A framework computes in a container or job with fewer than two cores per visible GPU."""
    if not _given(facts) or not computing(facts):
        return None
    gpus, cpus = len(visible_gpus(facts)), known(facts.host.cpus)
    if cpus >= gpus * _EACH:
        return None
    cores = f"{cpus:g} core{'' if cpus == 1 else 's'}"
    return Problem(f"This program may use {cores} for {gpus} GPU{'' if gpus == 1 else 's'}.")
