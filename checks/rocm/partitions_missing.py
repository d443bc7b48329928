"""KFD shows fewer GPUs of a divided card than of its equals."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known
from gpudoctor.queries.amd_boards import divided
from gpudoctor.targets import amd_compute, in_container
from gpudoctor.tasks import Edit, Shell, as_root


@check(
    title="Some partitions of Instinct GPUs are missing",
    severity=Severity.WARNING,
    cause="Each partition needs a number of its own for its render node, and older kernels have 64 of them for all "
    "graphics drivers together. The display of the board's management controller (ast) takes one, so that the last "
    "partition of eight cards in CPX mode stays away.",
    fixes=(
        Fix(
            "Unload the driver of the management controller's display and load amdgpu again; nothing may use the GPUs.",
            (as_root("modprobe", "-r", "ast"), as_root("modprobe", "-r", "amdgpu"), as_root("modprobe", "amdgpu")),
            "reload-module",
            root=True,
            verify=Shell("ls /dev/dri/renderD* | wc -l", lookup=True),
        ),
        Fix(
            "If it cannot be unloaded: keep it from being loaded, and restart.",
            (Edit("/etc/modprobe.d/blacklist-ast.conf", text="blacklist ast\n", root=True), as_root("reboot")),
            "reboot",
            root=True,
            needs="reboot",
            impact="persistent",
            undo=(Edit("/etc/modprobe.d/blacklist-ast.conf", gone=True, root=True),),
        ),
    ),
    references=(
        "https://instinct.docs.amd.com/projects/amdgpu-docs/en/latest/gpu-partitioning/mi300x/troubleshooting.html",
    ),
    targets=amd_compute,
    caused_by=("rocm.not-driven", "rocm.partitions-differ"),
    affects=("several-gpus",),
    validated_on=("table 2026-11",),
)
def partitions_missing(facts: Facts) -> Problem | None:
    """Cards of one model and mode with unequal numbers of GPUs, where no group of devices hides any."""
    if in_container(facts):
        return None
    for cards in divided(facts).values():
        for mode in {mode for _, mode in cards if mode[0] != "SPX"}:
            counts = {on.address: len(on.gpus) for on, own in cards if own == mode}
            most = max(counts.values())
            lacking = {address: count for address, count in counts.items() if count < most}
            if lacking and known(facts.amd.closed_nodes) == 0:
                missing = sum(most - count for count in lacking.values())
                listing = tuple(f"{address}: {count} of {most}" for address, count in lacking.items())
                have = "has" if len(lacking) == 1 else "have"
                return Problem(
                    f"{len(lacking)} of {len(counts)} cards in {mode[0]} mode {have} fewer GPUs than the others: "
                    f"{missing} of {most * len(counts)} are missing.",
                    listing,
                )
    return None
