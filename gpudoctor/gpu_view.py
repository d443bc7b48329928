"""Questions about a GPU's load that several checks ask, answered from facts alone."""

from gpudoctor.facts import Facts, Gpu
from gpudoctor.maybe import known, known_or

# NVML's performance states: 0 to 2 are those of work, from 5 on a GPU idles (nvmlPstates_t).
WORKING = 2
# Under this the clocks and the link may still be those of rest; per cent.
BUSY = 10


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
