"""Which GPUs can compute here, how busy they are, and whether they are virtual, from facts alone."""

from gpudoctor.facts import Facts, Gpu, PciDevice
from gpudoctor.maybe import Maybe, Unknown, known, known_or
from gpudoctor.queries.driver import cuda_fails
from gpudoctor.targets import (
    as_gpus,
    asked_for_nvidia,
    asks_for_nvidia,
    cards_of,
    gpus_of,
    has_nvidia,
    has_rocm,
    in_container,
)


def nvidia_gpus(facts: Facts) -> tuple[Gpu, ...]:
    """The NVIDIA GPUs for computing: as the driver lists them, else as the bus does; not those given to a guest.

    A Jetson's are on no bus.
    """
    listed = gpus_of(facts, "nvidia")
    if listed or not _given(facts, "nvidia"):
        return listed
    return as_gpus("nvidia", _ours(facts, "nvidia")) or _as_cuda_lists(facts)


def _as_cuda_lists(facts: Facts) -> tuple[Gpu, ...]:
    """Of a Jetson before JetPack 6, which has neither NVML nor a GPU on PCI, libcuda alone knows the GPU."""
    devices = facts.nvidia.cuda.devices
    if known_or(facts.host.platform, "") != "jetson" or isinstance(devices, Unknown):
        return ()
    return tuple(
        Gpu(
            vendor="nvidia",
            index=device.index,
            address=None,
            name=device.name,
            uuid=device.uuid,
            capability=device.capability,
            integrated=True,
        )
        for device in devices
    )


def _ours(facts: Facts, vendor: str) -> tuple[PciDevice, ...]:
    """The cards of a vendor that are not given to a guest."""
    return tuple(card for card in cards_of(facts, vendor) if card.driver != "vfio-pci")


def _given(facts: Facts, vendor: str) -> bool:
    """Whether the bus counts: a container sees the host's bus in /sys although no GPU was passed to it."""
    if not in_container(facts):
        return True
    if vendor == "nvidia":
        nodes = facts.nvidia.kernel.nodes
        return asks_for_nvidia(facts) or asked_for_nvidia(facts) or (isinstance(nodes, tuple) and bool(nodes))
    return isinstance(facts.amd.kfd, tuple) and bool(facts.amd.kfd)


def programs_open(facts: Facts, vendor: str) -> Maybe[bool]:
    """Whether programs can open the GPUs of a vendor at all; a mask that hides them from a program does not count.

    On Windows nvidia-smi alone was asked, which lists those that work.
    """
    cuda, nodes = facts.nvidia.cuda, facts.amd.kfd
    if facts.host.system == "Windows":
        return bool(gpus_of(facts, vendor))
    if vendor == "nvidia":
        if cuda.hung or cuda.died:
            return False
        return cuda.code if isinstance(cuda.code, Unknown) else cuda.code is not None and not cuda_fails(facts)
    if vendor != "amd":
        return True
    if isinstance(nodes, Unknown):
        return nodes
    return any(n.error is None for n in nodes) or next((n.error for n in nodes if isinstance(n.error, Unknown)), False)


def visible_gpus(facts: Facts) -> tuple[Gpu, ...]:
    """The NVIDIA GPUs that CUDA shows to programs; all of them where libcuda could not be asked."""
    devices = facts.nvidia.cuda.devices
    everyone = nvidia_gpus(facts)
    if isinstance(devices, Unknown) or not devices:
        return everyone
    shown = {d.uuid for d in devices if isinstance(d.uuid, str)} | {
        d.address for d in devices if isinstance(d.address, str)
    }
    return tuple(g for g in everyone if g.uuid in shown or g.address in shown) or everyone


def amd_gpus(facts: Facts) -> tuple[Gpu, ...]:
    """The AMD GPUs that PyTorch's ROCm wheels for Linux have code for; integrated ones only where ROCm is installed.

    A framework that is built for ROCm brings it.
    """
    if facts.host.system != "Linux":
        return ()
    listed = gpus_of(facts, "amd") or as_gpus("amd", _ours(facts, "amd"))
    return tuple(g for g in listed if _computes(facts, g)) if _given(facts, "amd") else ()


def amd_alone(facts: Facts) -> tuple[Gpu, ...]:
    """The AMD GPUs next to an installed ROCm, on a machine without NVIDIA's."""
    if nvidia_gpus(facts) or has_nvidia(facts) or not has_rocm(facts):
        return ()
    return amd_gpus(facts)


def _computes(facts: Facts, gpu: Gpu) -> bool:
    builds = (framework for python in facts.pythons for framework in python.frameworks)
    if gpu.integrated is True and not has_rocm(facts) and not any(one.variant == "rocm" for one in builds):
        return False
    return isinstance(gpu.gfx, str) and torch_gfx(gpu.gfx) is not None


def torch_gfx(gfx: str) -> str | None:
    """The gfx target with which PyTorch's wheels run on this GPU: its own, or a sibling's by an override; or None."""
    from gpudoctor.knowledge import rocm, torch  # not on machines without AMD's GPUs, which need this module, too

    if torch.rocm_for(gfx):
        return gfx
    override = rocm.override_for(gfx)
    sibling = rocm.gfx_of_override(override) if override else None
    return sibling if sibling and torch.rocm_for(sibling) else None


def is_data_center(gpu: Gpu) -> bool:
    """Whether CUDA's forward compatibility packages may work on this GPU: data center GPUs, by their names.

    https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html
    """
    import re

    name = gpu.name if isinstance(gpu.name, str) else ""
    consumer = re.search(r"GeForce|RTX|GTX|Quadro|TITAN|\bMX", name)
    return bool(re.search(r"Tesla|\b(?:[ABHLPTV]|G[BH])\d{1,3}[A-Z]?\b", name)) and not consumer


# NVML's performance states: 0 to 2 are under load, from 5 on a GPU idles (nvmlPstates_t).
WORKING = 2
# Between them a laptop's GPU computes, too, where its power is limited: P3 at 98% utilization (ublue-os/bazzite#4384).
LIMITED = 4
# Below this the clocks and the link may still be those of an idle GPU; percent.
BUSY = 10
# Boards on which CPU and GPU share a package or a chip-to-chip link (NVLink-C2C), and no data goes over PCIe.
COHERENT = ("grace", "dgx-spark", "jetson")


def busy(gpu: Gpu, percent: int = BUSY, state: int = WORKING) -> bool:
    """Whether the GPU is under load right now, so that its link and clocks are final.

    Args:
        gpu: the GPU.
        percent: the utilization from which on it counts as busy.
        state: the slowest performance state that counts.

    Raises:
        UnknownFactError: NVML reports neither performance state nor utilization.
    """
    now = known_or(gpu.performance_state, None)
    if now is not None and now > state:
        return False
    used = known(gpu.utilization)
    return used is not None and used >= percent


def mobile(facts: Facts, gpu: Gpu) -> bool:
    """Whether a laptop's firmware controls this GPU's power, clocks and fans; mobile GPUs are in mini-PCs, too."""
    name = gpu.name if isinstance(gpu.name, str) else ""
    return known_or(facts.host.platform, "") == "laptop" or "Laptop GPU" in name or "Max-Q" in name


def hypervisor(facts: Facts) -> str | None:
    """The hypervisor's name; None on bare metal, and where only the CPU reports that there is one."""
    found = known_or(facts.host.virtual, None)
    return None if found in (None, "other") else found


def virtual(facts: Facts, gpu: Gpu) -> bool:
    """Whether the link that this machine shows is a hypervisor's, not the card's."""
    return hypervisor(facts) is not None or gpu.virtualization in ("vgpu", "passthrough")


def is_gb10(facts: Facts, gpu: Gpu) -> bool:
    """Whether this is the GPU of a DGX Spark or of another maker's machine with GB10."""
    return known_or(facts.host.platform, "") == "dgx-spark" or gpu.name == "NVIDIA GB10"


def has_slot(facts: Facts, gpu: Gpu) -> bool:
    """Whether the GPU's data goes over PCIe: it is neither part of the CPU nor on its chip-to-chip link."""
    own = gpu.integrated is True or is_gb10(facts, gpu)
    return not own and known_or(facts.host.platform, "") not in COHERENT


def possible(facts: Facts, gpu: Gpu, name: str, most: int | None) -> int | None:
    """The maximum of card and slot together.

    NVML often reports what the card alone can do; the kernel shows the port that the card is in as well: a slot
    with four lanes behind an x16 connector, OCuLink, or Thunderbolt, whose tunnel reports x4 at 2.5 GT/s.

    Args:
        facts: the machine.
        gpu: one of its GPUs.
        name: the fact, as cards and GPUs call it: link_width_max, link_generation_max.
        most: what NVML reports.
    """
    card = next((c for c in cards_of(facts, "nvidia") if c.address == gpu.address), None)
    slot = getattr(card, name) if card is not None else None
    return min(most, slot) if isinstance(most, int) and isinstance(slot, int) and slot > 0 else most
