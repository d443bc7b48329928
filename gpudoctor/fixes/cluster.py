"""Fixes in clusters: how to request a GPU from each batch system, and what to do with the other pods of a node."""

import msgspec

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.maybe import text_of
from gpudoctor.queries.clusters import system
from gpudoctor.tasks import Command, Shell, Tasks, cmd, query
from gpudoctor.tasks.placeholders import JOB_SCRIPT, NODE, REST

# Where the GPU Operator's toolkit container installs the toolkit.
_OF_OPERATOR = "/usr/local/nvidia/toolkit/"
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


def by_operator(facts: Facts) -> bool:
    """Whether the toolkit here is that of the GPU Operator."""
    return (facts.containers.toolkit_path or "").startswith(_OF_OPERATOR)


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


def allocatable(resource: str) -> Command:
    """The command that shows how many GPUs each node of Kubernetes offers to pods.

    Args:
        resource: "nvidia.com/gpu".
    """
    key = resource.replace(".", "\\.")
    return query("kubectl", "get", "nodes", "-o", f"custom-columns=NAME:.metadata.name,GPU:.status.allocatable.{key}")


ALLOCATABLE = allocatable("nvidia.com/gpu")
_RUNTIMES = ("containerd", "crio", "docker", "kubelet", "k3s", "k3s-agent", "rke2-agent")


def with_drain(fix: Fix, facts: Facts) -> Fix:
    """The fix of a node of Kubernetes with its other pods in mind: a reboot ends them all.

    https://kubernetes.io/docs/tasks/administer-cluster/safely-drain-node/
    """
    is_node = facts.cluster.kubelet is True and fix.place == "here"
    if not is_node and not (facts.host.kubernetes is True and fix.place == "outside"):
        return fix
    words = [task.argv for task in fix.tasks if isinstance(task, Command)]
    if any(argv[0] == "reboot" or argv[:2] == ("systemctl", "reboot") for argv in words):
        first, says = cmd("kubectl", "drain", NODE, "--ignore-daemonsets", "--delete-emptydir-data"), _DRAIN
    elif any(argv[:2] == ("systemctl", "restart") and argv[2] in _RUNTIMES for argv in words):
        first, says = cmd("kubectl", "cordon", NODE), _CORDON
    else:
        return fix
    return msgspec.structs.replace(
        fix, message=f"{fix.message} {says}", tasks=(first, *fix.tasks, cmd("kubectl", "uncordon", NODE))
    )


_DRAIN = "Drain the node first, because the reboot ends its other pods, and uncordon it when it is up again."
_CORDON = "Cordon the node meanwhile, so that no pod starts on it; running pods go on."
