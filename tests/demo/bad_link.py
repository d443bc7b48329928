"""A node of eight H100 PCIe, one of which sits badly in its slot: four lanes instead of sixteen."""

from typing import Any

from gpudoctor.facts import CudaDevice, Facts, Gpu, Nvidia, PciDevice, Python
from gpudoctor.maybe import Unknown
from tests.demo import bad_link_smoke, node, parts, pythons

# At rest: memory in use, degrees, watts.
REST = (
    (4, 34, 47.8),
    (4, 36, 49.2),
    (4, 33, 46.9),
    (4, 37, 50.4),
    (4, 35, 48.1),
    (4, 34, 47.5),
    (4, 38, 51.0),
    (4, 36, 49.7),
)
LOG = f"""
[    9.817204] host kernel: pci {node.ADDRESSES[node.ILL]}: 126.028 Gb/s available PCIe bandwidth, limited by 32.0 GT/s PCIe x4 link at 0000:a0:01.1 (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)
[   21.340118] host kernel: NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  {node.DRIVER}  Release Build
"""  # noqa: E501 - the kernel's line


def facts() -> Facts:
    """The machine, after `gpudoctor check --smoke`."""
    sizes = {"libnvidia-ptxjitcompiler.so.1": 39_420_976, "libnvidia-nvvm.so.4": 86_842_616}
    seen = tuple(
        CudaDevice(
            index=i,
            name=node.NAME,
            uuid=node.UUIDS[i],
            capability="9.0",
            memory=node.MEMORY - (545 << 20),
            address=node.ADDRESSES[i],
        )
        for i in range(8)
    )
    names = (
        "libnvidia-compute-580-server",
        "nvidia-compute-utils-580-server",
        "nvidia-dkms-580-server-open",
        "nvidia-headless-580-server-open",
        "nvidia-utils-580-server",
    )
    return Facts(
        version="0.1.0",
        created="2025-11-12T14:26:55Z",
        seconds=8.762,
        host=parts.host(node.RELEASE, "Supermicro AS -4125GS-TNRT", 1511.6, 192.0, 5821, node.VENV),
        pci=tuple(card(i) for i in range(8)),
        nvidia=Nvidia(
            kernel=parts.kernel(
                node.DRIVER, node.ADDRESSES, packages=tuple((n, f"{node.DRIVER}-0ubuntu0.24.04.2", "ii") for n in names)
            ),
            cuda=parts.cuda(node.DRIVER, "13.0", seen, 96_398_240),
            nvml=parts.nvml(node.DRIVER, "13.0", 8, 2_300_984),
            other_libraries=tuple(parts.library(name, node.DRIVER, size) for name, size in sizes.items()),
            link_libraries=(parts.library("libcuda.so", node.DRIVER, 96_398_240),),
        ),
        amd=parts.amd(),
        gpus=tuple(gpu(i) for i in range(8)),
        log=parts.log(LOG),
        containers=parts.containers(),
        toolkits=parts.toolkits(),
        pythons=(python(),),
        smoke=bad_link_smoke.smoke(),
    )


def same(index: int) -> dict[str, Any]:
    """What NVML and the bus say alike."""
    return {
        "address": node.ADDRESSES[index],
        "chip": "GH100",
        "generation": "Hopper",
        "capability": "9.0",
        "gfx": None,
        "integrated": False,
        "link_generation": 5,
        "link_width": node.LANES if index == node.ILL else 16,
        "link_generation_max": 5,
        "link_width_max": 16,
        "numa_node": index // 4,
    }


def card(index: int) -> PciDevice:
    """A card as the bus shows it."""
    return PciDevice(
        vendor="10de",
        device="2331",
        class_code="030200",
        name="GH100 [H100 PCIe]",
        subsystem="10de:1626",
        revision="a1",
        driver="nvidia",
        power_state="D0",
        runtime_status="active",
        bar1=128 << 30,
        ports=(f"0000:{node.BUSES[index] - 1:02x}:01.1",),
        iommu="identity",
        acs=Unknown("the configuration space of PCI bridges can be read by root alone"),
        local_cpus="0-47,96-143" if index < 4 else "48-95,144-191",
        link_errors=(),
        **same(index),
    )


def gpu(index: int) -> Gpu:
    """A GPU at rest; pairs are joined by bridges of twelve links."""
    mib, degrees, watts = REST[index]
    return Gpu(
        vendor="nvidia",
        index=index,
        name=node.NAME,
        uuid=node.UUIDS[index],
        status="ok",
        memory=node.MEMORY,
        memory_used=mib << 20,
        utilization=0,
        performance_state=0,
        temperature=degrees,
        temperature_operating_max=90,
        temperature_slowdown=92,
        temperature_shutdown=95,
        temperature_memory=degrees + 9,
        temperature_memory_max=95,
        fans=None,
        power=watts,
        power_limit=350.0,
        power_default=350.0,
        sm_clock=345,
        sm_clock_max=1755,
        application_clock=1755,
        application_clock_default=1755,
        event_reasons=("gpu-idle",),
        pcie_replays=0,
        ecc=True,
        ecc_pending=True,
        ecc_corrected=0,
        ecc_uncorrected=0,
        ecc_uncorrected_total=0,
        remapped_corrected=0,
        remapped_uncorrected=0,
        remap_pending=False,
        remap_failed=False,
        banks_without_spares=0,
        sram_threshold=False,
        inforom=True,
        retired_pending=None,
        compute_mode="default",
        mig=False,
        mig_pending=False,
        mig_devices=(),
        persistence=True,
        processes=(),
        nvlinks=(True,) * 12,
        fabric_state="not-supported",
        fabric_status=0,
        fabric_health=None,
        fabric_of_several=None,
        nvlink_replays=0,
        nvlink_recoveries=0,
        nvlink_crc=0,
        vbios="96.00.30.00.01",
        serial="***",
        virtualization="none",
        recovery_action="none",
        render_node=f"/dev/dri/renderD{129 + index}",
        **same(index),
    )


def python() -> Python:
    """PyTorch as pip installs it."""
    seen = pythons.devices(8, node.NAME, "9.0", node.MEMORY - (545 << 20))
    said = pythons.live(
        node.VENV,
        "2.9.1+cu128",
        "12.8",
        3.406,
        pythons.CU128,
        node.DRIVER,
        count=8,
        devices=seen,
        archs=node.ARCHS,
        cudnn="9.10.2",
    )
    found = pythons.torch(node.VENV, "2.9.1", "12.8", node.ARCHS, "9.10.2.21", pythons.CU128, said)
    packages = (
        *pythons.torch_package(node.VENV, "2.9.1", pythons.CU128, "3.5.1", 14_618),
        *pythons.wheels(node.VENV, pythons.CU128),
        pythons.plain(node.VENV, "numpy", "2.3.5", 1_189),
        pythons.plain(node.VENV, "transformers", "4.57.1", 4_377),
        pythons.plain(node.VENV, "accelerate", "1.11.0", 243),
        pythons.plain(node.VENV, "peft", "0.18.0", 364),
    )
    others = pythons.IN_2025 | {"pip": "25.3", "tokenizers": "0.22.1", "datasets": "4.4.1", "wandb": "0.23.0"}
    return pythons.environment(node.VENV, others, packages, (found,))
