"""Questions about a GPU's load that several checks ask, answered from facts alone."""

from gpudoctor.facts import Facts, Gpu
from gpudoctor.maybe import known, known_or
from gpudoctor.subjects import cards_of

# NVML's performance states: 0 to 2 are those of work, from 5 on a GPU idles (nvmlPstates_t).
WORKING = 2
# Under this the clocks and the link may still be those of rest; per cent.
BUSY = 10
# Boards on which processor and GPU share a package or a chip-to-chip link (NVLink-C2C), and no data goes over PCIe.
COHERENT = ("grace", "dgx-spark", "jetson")


def busy(gpu: Gpu, per_cent: int = BUSY) -> bool:
    """Whether the GPU works right now, so that its link and clocks are those of work.

    Raises:
        UnknownFactError: NVML tells neither performance state nor utilisation.
    """
    state = known_or(gpu.performance_state, None)
    if state is not None and state > WORKING:
        return False
    used = known(gpu.utilisation)
    return used is not None and used >= per_cent


def hypervisor(facts: Facts) -> str | None:
    """The hypervisor's name; None on bare metal, and where only the processor says that there is one."""
    found = known_or(facts.host.virtual, None)
    return None if found in (None, "other") else found


def virtual(facts: Facts, gpu: Gpu) -> bool:
    """Whether the link that this machine shows is a hypervisor's, not the card's."""
    return hypervisor(facts) is not None or gpu.virtualization in ("vgpu", "passthrough")


def has_slot(facts: Facts, gpu: Gpu) -> bool:
    """Whether the GPU's data goes over PCIe: it is no part of the processor and not on its chip-to-chip link."""
    return gpu.integrated is not True and known_or(facts.host.platform, "") not in COHERENT


def possible(facts: Facts, gpu: Gpu, name: str, most: int | None) -> int | None:
    """The most that card and slot do together.

    NVML often tells what the card could do alone; the kernel shows the port that the card sits in as well: a slot
    with four lanes behind an x16 connector, OCuLink, or Thunderbolt, whose tunnel calls itself x4 at 2.5 GT/s.

    Args:
        facts: the machine.
        gpu: one of its GPUs.
        name: the fact, as cards and GPUs call it: link_width_max, link_generation_max.
        most: what NVML says.
    """
    card = next((c for c in cards_of(facts, "nvidia") if c.address == gpu.address), None)
    slot = getattr(card, name) if card is not None else None
    return min(most, slot) if isinstance(most, int) and isinstance(slot, int) and slot > 0 else most
