"""The kernel moves pages between NUMA nodes on a machine whose GPU memory is a node."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known
from gpudoctor.targets import gpus_of, in_container, machine
from gpudoctor.tasks import Edit, as_root, query

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


@check(
    title="Automatic NUMA balancing is on (Grace: GPU memory is a NUMA node)",
    severity=Severity.ADVICE,
    cause="On Grace the GPU's memory is a NUMA node. The kernel periodically unmaps pages to see who uses them; when "
    "the GPU hits one of these, it waits for the CPU. NVIDIA recommends disabling it.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/grace-perf-tuning-guide/os-settings.html",
        "https://nvidia.github.io/grace-cpu-benchmarking-guide/platform/index.html",
        "https://docs.kernel.org/admin-guide/sysctl/kernel.html#numa-balancing",
    ),
    targets=machine,
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def numa_balancing(facts: Facts) -> str | None:
    """Only on Grace with its GPU: elsewhere no GPU is a NUMA node."""
    if facts.host.platform != "grace" or not gpus_of(facts, "nvidia") or not known(facts.host.numa_balancing):
        return None
    return "kernel.numa_balancing is 1: the kernel keeps unmapping pages that the GPU shares with the CPU."
