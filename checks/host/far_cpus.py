"""The process may run only on CPUs far from the GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known
from gpudoctor.parsers.cpu_list import processors
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.targets import ANY_GPU, cards_of, machine
from gpudoctor.tasks import cmd, query
from gpudoctor.tasks.placeholders import COMMAND


def _local(facts: Facts) -> list[str | None]:
    """The local CPUs of each visible GPU."""
    shown = {g.address for g in visible_gpus(facts)}
    return [known(card.local_cpus) for card in cards_of(facts, "nvidia") if card.address in shown]


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    near = next((cpus for cpus in _local(facts) if cpus), "")
    if "SLURM_JOB_ID" in facts.host.environment:
        message = "Make Slurm choose CPUs close to the job's GPU."
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
    message = "Run on the CPUs of the GPU's NUMA node, or remove the restriction (taskset, numactl, --cpuset-cpus)."
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
    title="CPU affinity excludes the GPU's NUMA node",
    severity=Severity.ADVICE,
    cause="On a machine with several NUMA nodes each GPU is attached to one of them. From another node, every copy "
    "and kernel launch crosses the link between CPU sockets, which costs latency and bandwidth.",
    fixes=_fixes,
    references=(
        "https://docs.kernel.org/admin-guide/cgroup-v1/cpusets.html",
        "https://docs.nvidia.com/deploy/nvml-api/group__nvmlAffinity.html",
    ),
    targets=machine,
    only_with=(ANY_GPU,),
    caused_by=("driver.*", "device.*"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def far_cpus(facts: Facts) -> Problem | None:
    """None of the allowed CPUs is local to any visible GPU."""
    if not visible_gpus(facts) or not cards_of(facts, "nvidia"):
        return None
    near = [cpus for cpus in _local(facts) if cpus]
    if not near:
        return None
    allowed = known(facts.host.cpu_list)
    mine = processors(allowed)
    if not mine or any(mine & processors(cpus) for cpus in near):
        return None
    message = f"This process may run on CPUs {allowed}, but none of them is local to its GPU (local CPUs: {near[0]})."
    return Problem(message)
