"""How each batch system is asked for a GPU."""

from gpudoctor.facts import Facts
from gpudoctor.judge import Fix
from gpudoctor.maybe import text_of
from gpudoctor.views.clusters import system

# The words of each system's own documentation; sites may want a partition or a queue as well.
_COMMANDS = {
    "slurm": ("srun --gpus=1 --pty bash", "sbatch --gpus=1 JOB_SCRIPT"),
    "pbs": ("qsub -I -l select=1:ncpus=4:ngpus=1", "qsub -l select=1:ncpus=4:ngpus=1 JOB_SCRIPT"),
    "lsf": ('bsub -gpu "num=1" -Is bash', 'bsub -gpu "num=1" < JOB_SCRIPT'),
    "sge": ("qsub -l gpu=1 JOB_SCRIPT",),
}


def ask_for_gpu(facts: Facts) -> tuple[Fix, ...]:
    """Submit the job with a request for a GPU, in the words of its batch system."""
    name = facts.cluster.scheduler if isinstance(facts.cluster.scheduler, str) else facts.cluster.client_of
    says = (
        f"Ask {system(facts)} for a GPU when the job is submitted; many sites want the partition or queue of their GPU "
        "nodes too."
    )
    commands, proof = _COMMANDS.get(text_of(name), ()), "nvidia-smi -L"
    fixes = [Fix(says, commands, "restart-process", needs="a new job", impact="none", verify=proof)]
    if facts.cluster.scheduler == "slurm" and isinstance(facts.cluster.granted, str):
        step = "The job has GPUs and this step has none: ask for them at the step too."
        fixes.insert(0, Fix(step, ("srun --gpus=1 ...",), "restart-process", impact="none", verify=proof))
    return tuple(fixes)
