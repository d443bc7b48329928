"""How to request a GPU from each batch system."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.maybe import text_of
from gpudoctor.queries.clusters import system
from gpudoctor.tasks import Shell, Tasks, cmd, query
from gpudoctor.tasks.placeholders import JOB_SCRIPT, REST

# As each system's own documentation shows it; sites may require a partition or a queue as well.
_COMMANDS: dict[str, Tasks] = {
    "slurm": (cmd("srun", "--gpus=1", "--pty", "bash", person=True), cmd("sbatch", "--gpus=1", JOB_SCRIPT)),
    "pbs": (
        cmd("qsub", "-I", "-l", "select=1:ncpus=4:ngpus=1", person=True),
        cmd("qsub", "-l", "select=1:ncpus=4:ngpus=1", JOB_SCRIPT),
    ),
    "lsf": (
        cmd("bsub", "-gpu", "num=1", "-Is", "bash", person=True),
        Shell("bsub -gpu num=1 < JOB_SCRIPT", placeholders=(JOB_SCRIPT,)),
    ),
    "sge": (cmd("qsub", "-l", "gpu=1", JOB_SCRIPT),),
}


def ask_for_gpu(facts: Facts) -> tuple[Fix, ...]:
    """Submit the job with a request for a GPU, as its batch system wants it."""
    name = facts.cluster.scheduler if isinstance(facts.cluster.scheduler, str) else facts.cluster.client_of
    message = (
        f"Request a GPU from {system(facts)} when you submit the job; many sites also require the partition or queue "
        "of their GPU nodes."
    )
    commands, proof = _COMMANDS.get(text_of(name), ()), query("nvidia-smi", "-L")
    fixes = [Fix(message, commands, "restart-process", needs="a new job", impact="none", verify=proof)]
    if facts.cluster.scheduler == "slurm" and isinstance(facts.cluster.granted, str):
        step = "The job has GPUs and this step has none: request them for the step too."
        fixes.insert(0, Fix(step, (cmd("srun", "--gpus=1", REST),), "restart-process", impact="none", verify=proof))
    return tuple(fixes)
