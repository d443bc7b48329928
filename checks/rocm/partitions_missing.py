"""KFD lists fewer GPUs of a partitioned card than of its peers."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.boot import kernel_parameter
from gpudoctor.maybe import known
from gpudoctor.queries.amd_boards import divided
from gpudoctor.targets import amd_compute, in_container
from gpudoctor.tasks import Shell, as_root

_COUNT = Shell("ls /dev/dri/renderD* | wc -l", lookup=True)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    return (
        Fix(
            "Unload the BMC's display driver (ast) and reload amdgpu; no program may be using the GPUs.",
            (as_root("modprobe", "-r", "ast"), as_root("modprobe", "-r", "amdgpu"), as_root("modprobe", "amdgpu")),
            "reload-module",
            root=True,
            verify=_COUNT,
        ),
        kernel_parameter(facts, "If it cannot be unloaded: blacklist it.", "modprobe.blacklist=ast", _COUNT),
    )


@check(
    title="Some partitions of Instinct GPUs are missing",
    severity=Severity.WARNING,
    cause="Each partition needs a render node of its own, and older kernels have 64 minor numbers for all graphics "
    "drivers together. The display driver of the BMC (ast) takes one, so the last partition of eight cards in CPX "
    "mode is missing.",
    fixes=_fixes,
    references=(
        "https://instinct.docs.amd.com/projects/amdgpu-docs/en/latest/gpu-partitioning/mi300x/troubleshooting.html",
    ),
    targets=amd_compute,
    caused_by=("rocm.not-driven", "rocm.partitions-differ"),
    affects=("several-gpus",),
    validated_on=("table 2026-11",),
)
def partitions_missing(facts: Facts) -> Problem | None:
    """Cards of one model and mode with different numbers of GPUs, where no device cgroup hides any."""
    if in_container(facts):
        return None
    for cards in divided(facts).values():
        for mode in {mode for _, mode in cards if mode[0] != "SPX"}:
            counts = {on.address: len(on.gpus) for on, own in cards if own == mode}
            largest = max(counts.values())
            lacking = {address: count for address, count in counts.items() if count < largest}
            if lacking and known(facts.amd.closed_nodes) == 0:
                missing = sum(largest - count for count in lacking.values())
                listing = tuple(f"{address}: {count} of {largest}" for address, count in lacking.items())
                have = "has" if len(lacking) == 1 else "have"
                return Problem(
                    f"{len(lacking)} of {len(counts)} cards in {mode[0]} mode {have} fewer GPUs than the others: "
                    f"{missing} of {largest * len(counts)} are missing.",
                    listing,
                )
    return None
