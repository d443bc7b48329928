"""Which GPUs send data to one another over PCIe, and through what, from facts alone."""

from collections.abc import Iterator
from itertools import combinations

from gpudoctor.facts import Facts, Gpu, PciDevice
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import Unknown
from gpudoctor.queries.gpus import has_slot
from gpudoctor.targets import cards_of, gpus_of

# NVIDIA's driver does not let GeForce cards write to one another over PCIe (those with NVLink do so over that).
_WITHOUT_PEERS = pattern(r"GeForce|TITAN|\bMX\d")


def pcie_peers(facts: Facts) -> tuple[tuple[Gpu, PciDevice], ...]:
    """The NVIDIA GPUs that write to one another over PCIe: on bare metal, without NVLinks; GeForce only if forced."""
    if facts.host.virtual is not None:
        return ()
    cards = {c.address: c for c in cards_of(facts, "nvidia")}
    found = [(g, cards[g.address]) for g in gpus_of(facts, "nvidia") if g.address in cards and _may(facts, g)]
    return tuple(found) if len(found) > 1 else ()


def _may(facts: Facts, gpu: Gpu) -> bool:
    linked = isinstance(gpu.nvlinks, Unknown) or has_links(gpu)
    return (may_have_peers(gpu) or forces_peers(facts)) and not linked and gpu.mig is not True and has_slot(facts, gpu)


def has_links(gpu: Gpu) -> bool:
    """Whether it is known to have active NVLinks."""
    return isinstance(gpu.nvlinks, tuple) and any(gpu.nvlinks)


def may_have_peers(gpu: Gpu) -> bool:
    """Whether the driver lets it write to another GPU of its kind: over NVLink, or over PCIe as it does no GeForce."""
    return has_links(gpu) or (isinstance(gpu.name, str) and not _WITHOUT_PEERS.search(gpu.name))


def forces_peers(facts: Facts) -> bool:
    """Whether an option makes the driver offer PCIe writes between GeForce cards, as modified modules do.

    "ForceP2P=17;RMForceP2PType=1" (aikitoria/open-gpu-kernel-modules#25).
    """
    kernel = facts.nvidia.kernel
    words = (kernel.options.get("nvidia.NVreg_RegistryDwords", ""), kernel.parameters.get("RegistryDwords", ""))
    return any("ForceP2P" in text for text in words)


def behind_one_switch(
    peers: tuple[tuple[Gpu, PciDevice], ...],
) -> Iterator[tuple[tuple[Gpu, PciDevice], tuple[Gpu, PciDevice]]]:
    """Pairs that share a PCIe switch: more than the root port is common to their ways up."""
    for one, other in combinations(peers, 2):
        ways = one[1].ports, other[1].ports
        if any(isinstance(way, Unknown) for way in ways):
            continue
        common = sum(a == b for a, b in zip(*ways, strict=False))  # type: ignore[arg-type]
        if common > 1:
            yield one, other
