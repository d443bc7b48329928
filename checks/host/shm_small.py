"""Little shared memory, or none, outside of containers."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known
from gpudoctor.queries.containers import has_framework, size
from gpudoctor.targets import gpus_of, in_container, machine
from gpudoctor.tasks import as_root, query

# Linux mounts half of the memory by default; what is below this was made small by somebody.
LITTLE = 256 << 20


@check(
    title="The machine's shared memory is too small for PyTorch and NCCL",
    severity=Severity.WARNING,
    cause="NCCL puts its buffers between GPUs into /dev/shm, and PyTorch's DataLoader hands batches over through it. "
    "Linux gives it half of the memory unless /etc/fstab or a service says otherwise.",
    fixes=(
        Fix(
            "Enlarge /dev/shm now, and take a size= out of its line in /etc/fstab so that it stays.",
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
    caused_by=("driver.*", "device.*"),
    affects=("several-gpus",),
    validated_on=("simulated 2026-11",),
)
def shm_small(facts: Facts) -> Problem | None:
    """/dev/shm is not there or tiny, and several GPUs or PyTorch with a GPU are."""
    gpus = len(gpus_of(facts))
    if in_container(facts) or not gpus or not (gpus > 1 or has_framework(facts, "torch")):
        return None
    total = known(facts.host.shm.size)
    if total is None:
        return Problem("/dev/shm is not there: NCCL and PyTorch's data loaders need it.")
    return Problem(f"/dev/shm (shared memory) has only {size(total)}.") if total < LITTLE else None
