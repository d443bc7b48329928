"""Little or no shared memory, outside containers."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known
from gpudoctor.queries.containers import has_framework, size
from gpudoctor.targets import gpus_of, in_container, machine
from gpudoctor.tasks import as_root, query

# Linux mounts half of the memory by default; less than this was configured by somebody.
LITTLE = 256 << 20


@check(
    title="/dev/shm (shared memory) is too small for PyTorch and NCCL",
    severity=Severity.WARNING,
    cause="NCCL puts its inter-GPU buffers into /dev/shm, and PyTorch's DataLoader passes batches through it. Linux "
    "gives it half of the memory unless /etc/fstab or a service sets another size.",
    fixes=(
        Fix(
            "Enlarge /dev/shm now, and remove size= from its line in /etc/fstab, if there is one, so that it persists.",
            (as_root("mount", "-o", "remount,size=50%", "/dev/shm"), query("grep", "-n", "shm", "/etc/fstab")),
            "change-environment",
            root=True,
            verify=query("df", "-h", "/dev/shm"),
        ),
    ),
    references=(
        "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#shared-memory",
        "https://www.kernel.org/doc/html/latest/filesystems/tmpfs.html",
    ),
    targets=machine,
    only_with=("gpus",),
    caused_by=("driver.*", "device.*"),
    affects=("several-gpus",),
    validated_on=("table 2026-11",),
)
def shm_small(facts: Facts) -> Problem | None:
    """/dev/shm is missing or tiny, with several GPUs or PyTorch with a GPU."""
    gpus = len(gpus_of(facts))
    if in_container(facts) or not gpus or not (gpus > 1 or has_framework(facts, "torch")):
        return None
    total = known(facts.host.shm.size)
    if total is None:
        return Problem("/dev/shm does not exist: NCCL and PyTorch's DataLoader need it.")
    return Problem(f"/dev/shm (shared memory) has only {size(total)}.") if total < LITTLE else None
