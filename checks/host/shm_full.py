"""Shared memory is large enough, and full."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known
from gpudoctor.queries.containers import has_framework, size
from gpudoctor.targets import gpus_of, in_container, machine
from gpudoctor.tasks import Shell, query

# As much as container engines give by default, which NCCL and DataLoaders find too small (container.shm-small).
LITTLE = 64 << 20
# fuser ends with 1 where nobody has the file open; where there is no fuser (127), nothing may look unused.
_UNUSED = """find /dev/shm -maxdepth 1 -type f -exec sh -c 'fuser -s "$1"; [ $? -eq 1 ]' - {} ';'"""


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    inside = in_container(facts)
    where = " Where the container shares its host's /dev/shm (--ipc=host), do this on the host." if inside else ""
    look = Fix(
        "See what lies there: files of NCCL (nccl-*), PyTorch (torch_*) and others stay behind when a program is "
        f"killed.{where}",
        (query("ls", "-lhS", "/dev/shm"), Shell(f"{_UNUSED} -print", root=True, lookup=True)),
        root=True,
        impact="none",
    )
    if inside:  # fuser sees no process of the host, of other containers and of a pod's other ones, which may share it
        rest = "Delete files of programs that have ended: those in the second list may be open outside this container."
        return (look, Fix(rest, root=True, impact="data loss", verify=query("df", "-h", "/dev/shm")))
    delete = Fix(
        "Delete the files that no process has open (the second list); end the programs that hold the others.",
        (Shell(f"{_UNUSED} -delete", root=True),),
        root=True,
        impact="data loss",
        verify=query("df", "-h", "/dev/shm"),
    )
    return (look, delete)


@check(
    title="/dev/shm (shared memory) is full",
    severity=Severity.WARNING,
    cause="NCCL and PyTorch's DataLoader put their buffers into /dev/shm. Programs that are killed leave them there "
    "until somebody deletes them or the machine reboots; then new programs fail with 'No space left on device' or a "
    "bus error.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#shared-memory",
        "https://github.com/NVIDIA/nccl/issues/525",
        "https://github.com/llm-d/llm-d/issues/352",
    ),
    targets=machine,
    only_with=("gpus",),
    caused_by=("driver.*", "device.*", "host.shm-small", "container.shm-small"),
    affects=("several-gpus",),
    validated_on=("table 2026-11",),
)
def shm_full(facts: Facts) -> Problem | None:
    """Almost nothing is free of a size that is no problem by itself, on a machine that needs it."""
    gpus = len(gpus_of(facts))
    if not gpus or not (gpus > 1 or has_framework(facts, "torch")):
        return None
    total = known(facts.host.shm.size)
    if total is None or total <= LITTLE:
        return None
    free = known(facts.host.shm.free)
    if free is None or free >= LITTLE:
        return None
    return Problem(f"/dev/shm (shared memory) is full: {size(free)} of {size(total)} are free.")
