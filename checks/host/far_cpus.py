"""The process may run only on processors that are far from the GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known
from gpudoctor.parsers.cpu_list import processors
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.targets import cards_of, machine
from gpudoctor.tasks import cmd, query
from gpudoctor.tasks.placeholders import COMMAND


def _local(facts: Facts) -> list[str | None]:
    """The near processors of each GPU that programs see."""
    shown = {g.address for g in visible_gpus(facts)}
    return [known(card.local_cpus) for card in cards_of(facts, "nvidia") if card.address in shown]


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    near = next((cpus for cpus in _local(facts) if cpus), "")
    if "SLURM_JOB_ID" in facts.host.environment:
        message = "Let Slurm choose processors near the job's GPU."
        return (
            Fix(
                message,
                (cmd("srun", "--gpus=1", "--gpu-bind=closest", "--pty", "bash", person=True),),
                "change-environment",
                needs="a new job",
                impact="none",
                verify=query("nvidia-smi", "topo", "-m"),
            ),
        )
    message = "Run on the processors that the GPU hangs on, or take the limit away (taskset, numactl, --cpuset-cpus)."
    return (
        Fix(
            message,
            (cmd("taskset", "-c", near, COMMAND),),
            "change-environment",
            impact="none",
            verify=query("nvidia-smi", "topo", "-m"),
        ),
    )


@check(
    title="The process may only run on processors far from its GPU",
    severity=Severity.ADVICE,
    cause="On a machine with several NUMA nodes each GPU hangs on one of them. From another one every copy and every "
    "kernel launch goes over the link between the processors, which costs time and bandwidth.",
    fixes=_fixes,
    references=(
        "https://docs.kernel.org/admin-guide/cgroup-v1/cpusets.html",
        "https://docs.nvidia.com/deploy/nvml-api/group__nvmlAffinity.html",
    ),
    targets=machine,
    caused_by=("driver.*", "device.*"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def far_cpus(facts: Facts) -> Problem | None:
    """None of the allowed processors is near to any GPU that programs see."""
    if not visible_gpus(facts) or not cards_of(facts, "nvidia"):
        return None
    near = [cpus for cpus in _local(facts) if cpus]
    if not near:
        return None
    allowed = known(facts.host.cpu_list)
    mine = processors(allowed)
    if not mine or any(mine & processors(cpus) for cpus in near):
        return None
    message = f"This process may run on processors {allowed}, and none of them is near its GPU (those are {near[0]})."
    return Problem(message)
