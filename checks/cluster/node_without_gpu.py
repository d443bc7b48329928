"""A node of a cluster without GPU, such as its login node: the GPUs are elsewhere."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.cluster import ask_for_gpu
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.clusters import members, system
from gpudoctor.queries.containers import has_cuda_wheel
from gpudoctor.targets import asked_for_nvidia, cards_of, gpus_of, has_dxg


@check(
    title="This cluster node has no GPU",
    severity=Severity.ADVICE,
    cause="In a cluster only the GPU nodes have GPUs. Login nodes and CPU partitions have none; frameworks built for "
    "CUDA find no device there, and nothing is broken.",
    fixes=ask_for_gpu,
    references=("https://slurm.schedmd.com/gres.html", "https://slurm.schedmd.com/quickstart.html"),
    targets=members,
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def node_without_gpu(facts: Facts) -> Problem | None:
    """A framework for CUDA is installed, and neither PCI nor a driver shows a GPU."""
    if not has_cuda_wheel(facts) or gpus_of(facts) or has_dxg(facts) or asked_for_nvidia(facts):
        return None
    if known_or(facts.cluster.granted, None):
        return None  # the job requested GPUs: that this node has none is a failure, device.no-gpu
    if facts.cluster.has_gpus is False or any(cards_of(facts, vendor) for vendor in ("nvidia", "amd")):
        return None
    known(facts.pci)
    job, batch = known_or(facts.cluster.job, None), system(facts)
    node = f"This node, on which {batch}'s job {job} runs," if job else f"This node, which has {batch}'s commands,"
    sure = "The cluster's GPUs" if facts.cluster.has_gpus is True else "GPUs of the cluster, if it has any,"
    return Problem(f"{node} has no GPU, so frameworks run on the CPU. {sure} are reached in a job.")
