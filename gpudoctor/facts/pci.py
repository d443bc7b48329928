"""The devices on the PCI bus that matter for GPU computing, as sysfs shows them."""

import msgspec

from gpudoctor.facts.text_types import Capability, Count, Generation, Lanes, Small
from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown()


class PciDevice(msgspec.Struct, frozen=True, kw_only=True):
    """One display, 3D or accelerator device, an NVSwitch, or a network adapter with RDMA.

    Generations are PCIe generations (1: 2.5 GT/s, 2: 5, 3: 8, 4: 16, 5: 32, 6: 64 GT/s), widths are lanes.
    """

    address: str  # "0000:01:00.0"
    vendor: str  # "10de", "1002", "8086"
    device: str  # "2684"
    class_code: str  # "030000"
    role: str = "gpu"  # gpu, switch (NVSwitch), network
    name: Maybe[str | None] = NOT  # from pci.ids: "AD102 [GeForce RTX 4090]"; else what it is sold as
    subsystem: Maybe[str | None] = NOT  # "10de:165b"
    revision: Maybe[str | None] = NOT  # "a1"
    driver: Maybe[str | None] = NOT  # "nvidia", "nouveau", "vfio-pci", "NovaCore"; None: none bound
    chip: Maybe[str | None] = NOT  # "AD102"
    generation: Maybe[str | None] = NOT  # "Ada"
    capability: Maybe[Capability | None] = NOT  # compute capability, "8.9"
    gfx: Maybe[str | None] = NOT  # "gfx1100"
    integrated: Maybe[bool] = NOT  # part of the processor
    link_generation: Maybe[Generation | None] = NOT  # now; None: no PCIe link
    link_width: Maybe[Lanes | None] = NOT
    link_generation_max: Maybe[Generation | None] = NOT
    link_width_max: Maybe[Lanes | None] = NOT
    numa_node: Maybe[Small | None] = NOT  # None: the machine has one node
    power_state: Maybe[str | None] = NOT  # "D0", "D3cold"
    runtime_status: Maybe[str | None] = NOT  # "active", "suspended"
    bar1: Maybe[Count | None] = NOT  # bytes of BAR1 (NVIDIA), BAR0 (AMD), BAR2 (Intel): the CPU's way into the memory
    # What lies between the device and the memory; only of GPUs.
    ports: Maybe[tuple[str, ...]] = NOT  # addresses of the bridges above it, the root port first
    iommu: Maybe[str | None] = NOT  # kind of its IOMMU domain: "identity", "DMA", "DMA-FQ"; None: no IOMMU
    acs: Maybe[bool | None] = NOT  # the port above it sends its peers' requests up (ACS); None: it has no ACS
    local_cpus: Maybe[str | None] = NOT  # processors of its NUMA node, "0-31,64-95"
    # Corrected errors of the link since boot, of both its ends: (("BadTLP", 12), ...); None: no error reporting.
    link_errors: Maybe[tuple[tuple[str, Count], ...] | None] = NOT
