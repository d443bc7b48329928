"""Healthy machines with NVIDIA GPUs, each odd in its own way: none of them deserves a fail or a warning."""

from typing import Any

import msgspec

from gpudoctor.facts import CudaDevice, DeviceNode, Facts, KernelLog, Nvml, PciDevice
from gpudoctor.facts.host import Shm, User
from gpudoctor.maybe import Unknown, text_of
from tests.builders import VERSION, card, change, framework, gpu, library, live, nvidia_host, with_framework
from tests.checks.nvidia_gpus import A100 as A100
from tests.checks.nvidia_gpus import B200 as B200
from tests.checks.nvidia_gpus import H100 as H100
from tests.checks.nvidia_gpus import LOAD as LOAD
from tests.checks.nvidia_machines import having, nodes, xid

OLD = Unknown("NVML: this driver is too old to tell")
SHM = Shm(size=32 << 30, free=32 << 30, mode="1777", writable=True)
TINY = Shm(size=64 << 20, free=64 << 20, mode="1777", writable=True)
ME = User(uid=1000, name="ada", groups=())
ALL_ARCHS = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120", "compute_120")
TORCH = framework("torch", "2.9.1", cuda="12.8", archs=ALL_ARCHS)
# What NVML and the bus say alike.
SAME = ("chip", "generation", "capability", "link_generation", "link_generation_max", "link_width", "link_width_max")
DEVICES = {"8.0": "20b2", "9.0": "2330", "10.0": "2901"}


def several(count: int = 1, shown: int | None = None, changes: dict[str, Any] | None = None, **of_card: Any) -> Facts:
    """A machine with equal GPUs and PyTorch, which sees them all, or the number that CUDA shows."""
    facts = having(nvidia_host(count), host__shm=SHM, host__user=ME)
    made = tuple(gpu(i, **(changes or {})) for i in range(count))
    names = [(g.name, text_of(g.capability)) for g in made]
    devices = tuple(CudaDevice(index=i, name=n, capability=c) for i, (n, c) in enumerate(names[:shown]))
    plain = {name: getattr(made[0], name) for name in SAME}
    if made[0].capability in DEVICES:
        plain["device"] = DEVICES[text_of(made[0].capability)]
    cards = tuple(card(i, **(plain | of_card)) for i in range(count))
    facts = having(facts, gpus=made, pci=cards, nvidia__cuda__devices=devices)
    return with_framework(msgspec.structs.replace(TORCH, live=live(len(devices))), facts)


def also(facts: Facts, *more: PciDevice) -> Facts:
    """The machine with further devices on its bus."""
    assert isinstance(facts.pci, tuple)
    return change(facts, "pci", (*facts.pci, *more))


def working(**changes: Any) -> Facts:
    """One RTX 4090 at work."""
    return several(1, changes=LOAD | changes)


def intel() -> PciDevice:
    """A processor's graphics."""
    return card(
        address="0000:00:02.0",
        vendor="8086",
        device="a7a0",
        name="Raptor Lake-P [Iris Xe Graphics]",
        driver="i915",
        chip=None,
        generation=None,
        capability=None,
        integrated=True,
        link_generation=None,
        link_width=None,
        link_generation_max=None,
        link_width_max=None,
    )


def laptop(*, asleep: bool) -> Facts:
    """A laptop with PRIME offload: NVML woke its GPU, or tells no power limit of it."""
    mobile = {
        "name": "NVIDIA GeForce RTX 4060 Laptop GPU",
        "chip": "AD107",
        "link_width": 8,
        "link_width_max": 8,
        "power_limit": None,
        "power_default": None,
        "memory": 8 << 30,
    }
    facts = also(several(1, changes=mobile, device="28e0"), intel())
    facts = having(facts, host__platform="laptop", nvidia__kernel__prime="on-demand")
    if not asleep:
        return facts
    why = Unknown("the device is powered down, and reading its link would wake it")
    links: dict[str, Any] = dict.fromkeys(
        ("link_generation", "link_width", "link_generation_max", "link_width_max"), why
    )
    return change(
        facts,
        "pci.0",
        card(device="28e0", power_state="D3cold", runtime_status="suspended", driver="nvidia", **links),
    )


def hgx(kind: dict[str, Any], switches: int = 0, **changes: Any) -> Facts:
    """A board of eight GPUs with NVSwitches, whose fabric manager runs."""
    facts = several(8, changes=kind | changes)
    chips = [
        card(
            address=f"0000:{0xC1 + i:02x}:00.0",
            device="22a3" if kind["capability"] == "9.0" else "1af1",
            class_code="068000",
            role="switch",
            driver="nvidia-nvswitch",
            chip=None,
            generation=None,
            capability=None,
        )
        for i in range(switches)
    ]
    return having(
        also(facts, *chips),
        nvidia__kernel__fabric_manager="active",
        nvidia__kernel__fabric_manager_version=VERSION,
        nvidia__kernel__subnet_manager="/opt/nvidia/nvlsm/sbin/nvlsm",
        nvidia__kernel__persistence_daemon="active",
    )


def mig(**changes: Any) -> Facts:
    """Two H100s, the first cut into instances on purpose; NVML tells no load of it and no remapped rows."""
    cut: dict[str, Any] = {
        "mig": True,
        "mig_pending": True,
        "mig_devices": ("MIG-1", "MIG-2"),
        "utilization": None,
        "remapped_uncorrected": None,
        "remap_pending": None,
        "remap_failed": None,
        "nvlinks": None,
    }
    facts = several(2, 2, changes=H100)
    return change(facts, "gpus.0", gpu(0, **(H100 | cut | changes)))


def vgpu() -> Facts:
    """A guest with a licensed slice of an A40, of which NVML tells little."""
    silent = dict.fromkeys(
        (
            "power",
            "power_limit",
            "power_default",
            "temperature",
            "temperature_slowdown",
            "event_reasons",
            "link_generation",
            "link_width",
            "link_generation_max",
            "link_width_max",
            "pcie_replays",
        )
    )
    slice_ = {"name": "NVIDIA A40-24Q", "chip": "GA102", "generation": "Ampere", "capability": "8.6"}
    facts = several(1, changes=slice_ | silent | {"virtualization": "vgpu"}, device="2235")
    return having(
        facts,
        host__platform="vm",
        host__virtual="vmware",
        nvidia__kernel__gridd="active",
        nvidia__kernel__license="Licensed (Expiry: 2026-12-1 10:0:0 GMT)",
    )


def wsl() -> Facts:
    """WSL 2 with the Windows driver's libraries."""
    folder = "/usr/lib/wsl/lib"
    copies = {
        name: (library(name, None, path=f"{folder}/{name}", real=f"{folder}/{name}", kind="wsl"),)
        for name in ("libcuda.so.1", "libnvidia-ml.so.1")
    }
    bare = dict.fromkeys(("numa_node", "render_node", "link_generation", "link_width", "temperature_slowdown"))
    facts = several(1, changes=bare | {"persistence": True})
    return having(
        facts,
        pci=(),
        host__wsl=2,
        host__platform="wsl",
        host__virtual="microsoft",
        host__kernel__release="6.6.87.2-microsoft-standard-WSL2",
        host__kernel__secure_boot=None,
        host__kernel__headers=False,
        nvidia__kernel__loaded=None,
        nvidia__kernel__flavor=None,
        nvidia__kernel__modules=(),
        nvidia__kernel__gpus=(),
        nvidia__kernel__uvm_major=None,
        nvidia__kernel__installer=None,
        nvidia__kernel__packages=(),
        nvidia__kernel__wsl_drivers=("nv_dispi.inf_amd64_0afec3f2050014a0",),
        nvidia__kernel__dxgdmal=True,
        nvidia__kernel__nodes=nodes("dxg"),
        nvidia__cuda__libraries=copies["libcuda.so.1"],
        nvidia__cuda__loaded=f"{folder}/libcuda.so.1",
        nvidia__nvml__libraries=copies["libnvidia-ml.so.1"],
        nvidia__nvml__loaded=f"{folder}/libnvidia-ml.so.1",
    )


def shared(engine: str, own: int = 2, **changes: Any) -> Facts:
    """A container, or a job, with one GPU of four: /sys shows all of them, the devices' rules only one."""
    facts = several(1)
    paths = [f"nvidia{own}", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"]
    facts = also(facts, *(card(i) for i in range(1, 4)))
    plain: dict[str, Any] = {
        "host__container": engine,
        "host__platform": "container",
        "nvidia__kernel__nodes": nodes(*paths),
        "nvidia__kernel__on_disk": (),
        "nvidia__kernel__installer": None,
        "nvidia__nvml__count": 1,
        "host__environment": {"NVIDIA_VISIBLE_DEVICES": str(own), "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"},
        "host__kernel__headers": False,
        "log": KernelLog(events=Unknown("Ask on the host: sudo dmesg"), first=Unknown("no log")),
    }
    return having(facts, **(plain | changes))


def slurm() -> Facts:
    """A job on bare metal: its cgroup lets one of four GPUs through, and CUDA_VISIBLE_DEVICES counts within that."""
    opened = nodes("nvidia2", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools")
    closed = tuple(DeviceNode(path=f"/dev/nvidia{i}", mode="666", error="EPERM") for i in (0, 1, 3))
    return shared(
        "docker",
        host__container=None,
        host__platform="bare",
        nvidia__kernel__nodes=(*closed, *opened),
        host__environment={"CUDA_VISIBLE_DEVICES": "0", "SLURM_JOB_ID": "4711"},
    )


def superchip(**changes: Any) -> Facts:
    """A Grace Hopper with one GPU: its NVLinks end nowhere, and it needs no fabric manager."""
    own = {"name": "NVIDIA GH200 480GB", "nvlinks": (False,) * 18, "fabric_state": "not-supported", "numa_node": 1}
    facts = several(1, changes=H100 | own | {"memory": 96 << 30} | changes, device="2342")
    return having(facts, host__architecture="aarch64", host__platform="grace")


def spark() -> Facts:
    """A DGX Spark: GPU and processor share their memory, so that NVML supports no question about it."""
    own = {
        "name": "NVIDIA GB10",
        "chip": "GB10B",
        "generation": "Blackwell",
        "capability": "12.1",
        "integrated": True,
        "memory": None,
        "memory_used": None,
        "power_limit": None,
        "power_default": None,
        "link_generation": 1,
        "link_generation_max": 5,
        "link_width": 1,
        "link_width_max": 16,
        "fabric_state": "not-supported",
    }
    facts = several(1, changes=own, device="2e12")
    facts = having(facts, host__architecture="aarch64", host__platform="dgx-spark", nvidia__cuda__version="13.0")
    # That of CUDA 12.8, as elsewhere, has an NVRTC that does not know sm_121.
    return with_framework(msgspec.structs.replace(TORCH, cuda="13.0"), facts)


def jetson() -> Facts:
    """A Jetson Orin: a GPU that is on no PCI bus, without nvidia-uvm, of which NVML knows the name."""
    unasked = dict.fromkeys(("address", "memory", "memory_used", "temperature", "power", "power_limit"))
    links = dict.fromkeys(("link_generation", "link_width", "link_generation_max", "link_width_max", "event_reasons"))
    own = {"name": "Orin (nvgpu)", "chip": "GA10B", "generation": "Ampere", "capability": "8.7", "integrated": True}
    facts = several(1, changes=unasked | links | own)
    torch = msgspec.structs.replace(TORCH, archs=("sm_87",), cuda="12.6")
    facts = having(
        facts,
        pci=(),
        host__architecture="aarch64",
        host__platform="jetson",
        host__kernel__release="5.15.148-tegra",
        nvidia__kernel__loaded="540.4.0",
        nvidia__kernel__modules=("nvidia", "nvidia_modeset"),
        nvidia__kernel__gpus=(),
        nvidia__kernel__nodes=nodes("nvidia0", "nvidiactl"),
        nvidia__kernel__uvm_major=None,
        nvidia__cuda__libraries=(library("libcuda.so.1", "1.1"),),
        nvidia__nvml__libraries=(library("libnvidia-ml.so.1", "1"),),
        nvidia__cuda__version="12.6",
        nvidia__cuda__devices=(CudaDevice(index=0, name="Orin", capability="8.7"),),
        host__l4t="36.4.3",
    )
    return with_framework(torch, facts)


def old_jetson() -> Facts:
    """A Jetson with JetPack 5: no NVML, no module nvidia, no node, and libcuda alone knows the GPU."""
    nothing = Nvml(libraries=(), code=None, text=None, count=None, smi=None, smi_elsewhere=None)
    return having(
        jetson(),
        gpus=(),
        host__l4t="35.4.1",
        nvidia__nvml=nothing,
        nvidia__kernel__loaded=None,
        nvidia__kernel__flavor=None,
        nvidia__kernel__modules=("nvgpu",),
        nvidia__kernel__nodes=(),
        nvidia__kernel__installer=None,
    )


def passthrough() -> Facts:
    """A virtual machine with two whole cards, whose links are the hypervisor's invention."""
    links = {"link_generation": 1, "link_width": 1, "link_generation_max": 1, "link_width_max": 1}
    workstation = {"name": "NVIDIA RTX 6000 Ada Generation", "virtualization": "passthrough"}
    facts = several(2, changes=LOAD | workstation | {"link_generation": 4}, iommu="DMA-FQ", **links)
    return having(facts, host__platform="vm", host__virtual="kvm")


def two_generations() -> Facts:
    """A Quadro of Pascal for the displays beside the card that computes; PyTorch has code for one of them."""
    quadro = {
        "name": "Quadro P2000",
        "chip": "GP106",
        "generation": "Pascal",
        "capability": "6.1",
        "memory": 5 << 30,
        "link_generation_max": 3,
        "persistence": False,
    }
    facts = several(2)
    facts = having(facts, gpus__1=gpu(1, **quadro), nvidia__kernel__flavor="proprietary")
    pascal = card(1, device="1c30", chip="GP106", generation="Pascal", capability="6.1", link_generation_max=3)
    facts = change(facts, "pci.1", pascal)
    return change(facts, "nvidia.cuda.devices.1", CudaDevice(index=1, name="Quadro P2000", capability="6.1"))


def beside(driver: str | None, **of_card: Any) -> Facts:
    """A machine whose other card another driver holds, on purpose."""
    return also(several(1), card(1, driver=driver, **of_card))


def faults() -> Facts:
    """Programs with bugs ran here: illegal addresses, page faults, stopped channels."""
    lines = tuple(xid(code, pid=900 + code, gpu=f"0000:0{1 + code % 2}:00.0") for code in (13, 31, 43, 45, 69, 137))
    facts = several(2, changes={"recovery_action": OLD})
    return change(facts, "log.events", lines)
