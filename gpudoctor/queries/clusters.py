"""Queries about batch jobs and the nodes of clusters, answered from facts alone."""

from collections.abc import Iterator

from gpudoctor.check_engine import MACHINE, About
from gpudoctor.facts import DriverLibrary, Facts

NAMES = {"slurm": "Slurm", "pbs": "PBS", "lsf": "LSF", "sge": "Grid Engine"}


def jobs(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The process that is part of a batch job."""
    if isinstance(facts.cluster.scheduler, str):
        yield MACHINE, facts


def members(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine of a cluster: one with a job's process, or from which jobs are submitted."""
    if isinstance(facts.cluster.scheduler, str) or isinstance(facts.cluster.client, str):
        yield MACHINE, facts


def kubernetes_nodes(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine on which Kubernetes runs pods."""
    if facts.cluster.kubelet is True:
        yield MACHINE, facts


def nodes_to_be(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine with a kubelet that cannot talk to its container runtime."""
    if facts.cluster.cri_disabled is not None:
        yield MACHINE, facts


def importing_newer(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine whose containerd imports a file of a newer version than its own configuration."""
    if facts.cluster.newer_drop_in is not None:
        yield MACHINE, facts


def slurm_nodes(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine with slurmd, which offers its GPUs to jobs."""
    if facts.cluster.slurm_node is not None:
        yield MACHINE, facts


def system(facts: Facts) -> str:
    """The batch system's usual name."""
    found = facts.cluster.scheduler if isinstance(facts.cluster.scheduler, str) else facts.cluster.client_of
    return NAMES.get(found, found) if isinstance(found, str) else "the batch system"


def is_for_pods(library: DriverLibrary) -> bool:
    """Whether this copy is for Kubernetes' pods and not for programs of the node itself.

    The GPU operator's driver container mounts its files at the first path, GKE's nodes have theirs at the second
    (https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/,
    https://github.com/GoogleCloudPlatform/container-engine-accelerators).
    """
    return library.path.startswith(("/run/nvidia/driver/", "/home/kubernetes/bin/nvidia/"))
