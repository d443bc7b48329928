"""The IOMMU refused accesses of an NVIDIA GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.boot import kernel_parameter
from gpudoctor.maybe import known
from gpudoctor.queries.kernel_log import ago, events, of_this_week, texts
from gpudoctor.targets import cards_of, nvidia_machine
from gpudoctor.tasks import Shell, export, unset

_EVIDENCE = 3


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    verify = Shell("cat /sys/bus/pci/drivers/nvidia/*/iommu_group/type", lookup=True)
    set_ = kernel_parameter(facts, "Set the IOMMU to passthrough mode.", "iommu=pt", verify)
    without = Fix(
        "Until then, let NCCL go through host memory instead of from GPU to GPU (P2P), which is slower.",
        (export("NCCL_P2P_DISABLE", "1"),),
        "change-environment",
        needs="restart of the program",
        undo=(unset("NCCL_P2P_DISABLE"),),
    )
    off = Fix("If the faults come again: disable the IOMMU (VT-d, AMD-Vi) in the firmware setup.", (), "reboot")
    return (set_, without, off) if len(cards_of(facts, "nvidia")) > 1 else (set_, off)


@check(
    title="The IOMMU refuses accesses of an NVIDIA GPU",
    severity=Severity.WARNING,
    cause="The IOMMU translates the addresses that the GPU accesses, and refused some. On bare metal CUDA does not "
    "support transfers between GPUs (P2P) through an IOMMU that translates: they hang or return wrong data. A firmware "
    "with wrong tables of the IOMMU does the same to a single GPU.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#iommu-on-linux",
        "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#pci-access-control-services-acs",
    ),
    targets=nvidia_machine,
    caused_by=("device.fallen-off-the-bus", "device.bar-unassigned"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def iommu_faults(facts: Facts) -> Problem | None:
    """Page faults in the kernel log that the IOMMU reports of a GPU which the host itself uses."""
    known(facts.log.events)
    own = [card.address for card in cards_of(facts, "nvidia") if card.driver != "vfio-pci"]
    logged = [e for e in of_this_week(facts, events(facts, "iommu-fault")) if e.gpu in own]
    if not logged:
        return None
    of = {address: [e for e in logged if e.gpu == address] for address in own}
    hit = {address: found for address, found in of.items() if found}
    counts = (f"{address} ({len(found)} page fault{'s' * (len(found) != 1)})" for address, found in hit.items())
    message = f"The IOMMU refused accesses of {' and '.join(counts)}{ago(facts, logged[-1])}."
    shown = tuple(e for found in hit.values() for e in found[:_EVIDENCE])
    return Problem(message, texts(shown, 2 * _EVIDENCE))
