"""The kernel moves pages between NUMA nodes while GPUs work on them: on Grace, and on nodes of Instinct GPUs."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known
from gpudoctor.queries.amd_boards import INSTINCT
from gpudoctor.targets import gpus_of, in_container, machine
from gpudoctor.tasks import Edit, as_root, query

_INSTINCT = (
    "To see which CPU uses a page, the kernel periodically unmaps it, and moves it to that CPU's NUMA node. Each time "
    "amdgpu has to stop the GPU's queues and map the page again, so collectives (RCCL) and copies are slow and uneven. "
    "AMD requires it to be off on Instinct nodes, and RCCL warns of it."
)
_OFF = as_root("sysctl", "-w", "kernel.numa_balancing=0")


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    keep = Edit("/etc/sysctl.d/99-numa-balancing.conf", text="kernel.numa_balancing = 0\n", root=True)
    return (
        Fix(
            f"{'On the host: disable' if in_container(facts) else 'Disable'} automatic NUMA balancing.",
            (_OFF, keep),
            "change-environment",
            root=True,
            impact="persistent",
            undo=(
                Edit("/etc/sysctl.d/99-numa-balancing.conf", gone=True, root=True),
                as_root("sysctl", "-w", "kernel.numa_balancing=1"),
            ),
            verify=query("cat", "/proc/sys/kernel/numa_balancing"),
        ),
    )


def _instinct(facts: Facts) -> bool:
    """Whether GPUs of AMD's data center cards work together here."""
    gpus = gpus_of(facts, "amd")
    return len(gpus) > 1 and sum(known(gpu.gfx) in INSTINCT for gpu in gpus) > 1


@check(
    title="Automatic NUMA balancing is on",
    severity=Severity.ADVICE,
    cause="On Grace the GPU's memory is a NUMA node. The kernel periodically unmaps pages to see who uses them; when "
    "the GPU hits one of these, it waits for the CPU. NVIDIA recommends disabling it.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/grace-perf-tuning-guide/os-settings.html",
        "https://nvidia.github.io/grace-cpu-benchmarking-guide/platform/index.html",
        "https://docs.kernel.org/admin-guide/sysctl/kernel.html#numa-balancing",
        "https://rocm.docs.amd.com/en/latest/how-to/system-optimization/mi300x.html",
    ),
    targets=machine,
    only_with=("gpus.vendor=amd host.platform=grace",),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def numa_balancing(facts: Facts) -> str | Problem | None:
    """Only on Grace with its GPU, whose memory is a NUMA node, and where several Instinct GPUs work together."""
    grace = facts.host.platform == "grace" and bool(gpus_of(facts, "nvidia"))
    if not (grace or _instinct(facts)) or not known(facts.host.numa_balancing):
        return None
    if grace:
        return "kernel.numa_balancing is 1: the kernel keeps unmapping pages that the GPU shares with the CPU."
    message = "kernel.numa_balancing is on: the kernel keeps unmapping pages that the Instinct GPUs work on."
    return Problem(message, cause=_INSTINCT, severity=Severity.WARNING)
