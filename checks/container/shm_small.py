"""A container with the small /dev/shm that engines use by default."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import container
from gpudoctor.maybe import known
from gpudoctor.queries.containers import has_framework, size
from gpudoctor.targets import gpus_of, in_container, machine

# What docker, podman and containerd mount by default: docker run --shm-size.
DEFAULT = 64 << 20


@check(
    title="/dev/shm too small for PyTorch and NCCL",
    severity=Severity.WARNING,
    cause="Engines mount /dev/shm with 64 MiB by default. NCCL puts its buffers between GPUs there, and PyTorch's "
    "DataLoader passes batches through it: they fail with a bus error (SIGBUS) or 'No space left on device'.",
    fixes=container.larger_shm,
    references=(
        "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#shared-memory",
        "https://github.com/pytorch/pytorch#docker-image",
        "https://github.com/pytorch/pytorch/issues/5040",
    ),
    targets=machine,
    only_with=("gpus", "host.container"),
    caused_by=("driver.*", "device.*"),
    affects=("several-gpus", "containers"),
    validated_on=("simulated 2026-11",),
)
def shm_small(facts: Facts) -> Problem | None:
    """NCCL needs it with several GPUs, PyTorch's loaders with workers on one: its README requires more than that."""
    gpus = len(gpus_of(facts))
    if not in_container(facts) or not gpus or not (gpus > 1 or has_framework(facts, "torch")):
        return None
    total = known(facts.host.shm.size)
    if total is None or total > DEFAULT:
        return None
    what = f"{gpus} GPUs that communicate through it" if gpus > 1 else "PyTorch DataLoaders with num_workers"
    return Problem(
        f"The container's /dev/shm (shared memory) has {size(total)}, the engine's default: too small for {what}.",
        (f"df /dev/shm: {size(total)}",),
    )
