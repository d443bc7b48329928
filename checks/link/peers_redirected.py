"""The IOMMU or ACS redirects traffic between GPUs."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, Gpu, PciDevice
from gpudoctor.fixes.boot import kernel_parameter
from gpudoctor.maybe import known, known_or, phrase, phrases
from gpudoctor.queries.driver import several_gpus
from gpudoctor.queries.peers import behind_one_switch, pcie_peers
from gpudoctor.targets import gpu_name
from gpudoctor.tasks import Shell, as_root, filtered, query, sentence

TRANSLATED = ("DMA", "DMA-FQ")
_SEE = Fix(
    "Measure whether direct copies between the GPUs work and how fast they are.",
    (query("gpudoctor", "smoke"),),
    impact="none",
)


def _translated(facts: Facts) -> bool:
    return any(known_or(card.iommu, None) in TRANSLATED for _, card in pcie_peers(facts))


def _redirected(peer: tuple[Gpu, PciDevice]) -> tuple[str, ...]:
    """The ports above a GPU where the last one redirects; else none."""
    return peer[1].ports if peer[1].acs is True and isinstance(peer[1].ports, tuple) else ()


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    fixes = []
    if _translated(facts):
        message = "Let the IOMMU pass the GPUs' addresses through (Intel and AMD alike)."
        verify = Shell("cat /sys/kernel/iommu_groups/*/type | sort | uniq -c", lookup=True)
        fixes.append(kernel_parameter(facts, message, "iommu=pt", verify))
    ports = sorted({way[-1] for pair in behind_one_switch(pcie_peers(facts)) for way in map(_redirected, pair) if way})
    if ports:
        fixes.append(
            Fix(
                "Disable ACS in the firmware setup (BIOS), or until the next reboot on the ports of the switch. A "
                "host that passes devices to virtual machines needs ACS: leave it enabled there.",
                tuple(as_root("setpci", "-s", port, "ECAP_ACS+6.w=0000") for port in ports),
                root=True,
                undo=sentence("Reboot."),
                verify=filtered(query("lspci", "-vvv", root=True), query("grep", "ACSCtl")),
            )
        )
    return (*fixes, _SEE)


@check(
    title="IOMMU or ACS blocks direct P2P copies between GPUs",
    severity=Severity.ADVICE,
    cause="GPUs without NVLink write to each other's memory over PCIe (P2P). An IOMMU that translates addresses does "
    "not support that on bare metal: copies are slow or wrong, and NCCL hangs. ACS sends traffic that could stay "
    "within a PCIe switch up to the CPU and back.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#pci-access-control-services-acs",
        "https://docs.nvidia.com/nim/maxine/lipsync/latest/advanced-usage/multi-gpu.html",
        "https://github.com/NVIDIA/nccl/issues/2079",
        "https://docs.kernel.org/admin-guide/kernel-parameters.html",
    ),
    targets=several_gpus,
    caused_by=("device.fallen-off-the-bus",),
    affects=("several-gpus",),
    validated_on=("table 2026-11",),
)
def peers_redirected(facts: Facts) -> Problem | None:
    """A warning where a switch's ports are known to redirect; advice where the IOMMU translates."""
    peers = pcie_peers(facts)
    if not peers:
        return None
    pairs = list(behind_one_switch(peers))
    for one, other in pairs:
        ways = _redirected(one), _redirected(other)
        if all(ways):
            message = (
                f"{gpu_name(one[0])} and {gpu_name(other[0])} share a PCIe switch, whose ports redirect their P2P "
                "traffic "
            )
            evidence = (f"ACS P2P Request Redirect at {ways[0][-1]} and {ways[1][-1]}",)
            return Problem(f"{message}through the CPU (ACS).", evidence, severity=Severity.WARNING)
    kinds = [known(card.iommu) for _, card in peers]
    if any(kind in TRANSLATED for kind in kinds):
        message = f"The IOMMU translates the addresses of {len(peers)} GPUs that are connected only through PCIe."
        return Problem(message, phrases(*(phrase("{}: {}", c.address, c.iommu) for _, c in peers[:4])))
    for one, other in pairs:
        known(one[1].acs)
        known(other[1].acs)
    return None
