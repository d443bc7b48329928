"""Network adapters have no way to the GPUs' memory: neither nvidia_peermem nor DMA-BUF."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.module import on_the_host
from gpudoctor.maybe import known, present
from gpudoctor.queries.driver import not_wsl
from gpudoctor.queries.gpus import is_data_center
from gpudoctor.queries.rdma import asking, spans_machines
from gpudoctor.targets import gpus_of, in_container
from gpudoctor.tasks import Edit, as_root, filtered, query

_PEERS = ("nvidia_peermem", "nv_peer_mem")
_LOAD = as_root("modprobe", "nvidia_peermem")
_VERIFY = filtered(query("lsmod"), query("grep", "peermem"))
_OTHERWISE = (
    "If modprobe answers 'Invalid argument': the kernel's own InfiniBand driver has no interface for it. Install "
    "DOCA-OFED, then reinstall the NVIDIA driver's modules; or change to NVIDIA's open kernel modules, with which NCCL "
    "uses DMA-BUF and needs no nvidia_peermem."
)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    message = "Load nvidia_peermem, which is part of the driver, now and at every boot."
    boot = Edit("/etc/modules-load.d/nvidia-peermem.conf", text="nvidia_peermem\n", root=True)
    other = Fix(_OTHERWISE, (), "reinstall-package", place="outside" if in_container(facts) else "here")
    if in_container(facts):
        return (on_the_host(f"On the host: {message[0].lower()}{message[1:]}", _LOAD, boot), other)
    undo = (as_root("rmmod", "nvidia_peermem"), Edit(boot.path, gone=True, root=True))
    return (Fix(message, (_LOAD, boot), "reload-module", root=True, undo=undo, verify=_VERIFY), other)


@check(
    title="GPUDirect RDMA is off: nvidia_peermem is not loaded",
    severity=Severity.WARNING,
    cause="With GPUDirect RDMA the network adapter reads and writes GPU memory itself. That takes nvidia_peermem, or "
    "DMA-BUF, which only NVIDIA's open kernel modules have. Without both NCCL copies through host memory (\"GPU Direct "
    'RDMA Disabled"), and NVSHMEM skips its transport.',
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-rdma.html",
        "https://docs.nvidia.com/cuda/gpudirect-rdma/index.html",
        "https://github.com/deepseek-ai/DeepEP/issues/223",
        "https://github.com/NVIDIA/nccl/issues/1939",
    ),
    targets=not_wsl,
    only_with=("host.rdma_devices",),
    caused_by=("driver.not-loaded", "fabric.peermem-mismatch"),
    affects=("several-gpus",),
    validated_on=("simulated 2026-11",),
)
def gpudirect_rdma_off(facts: Facts) -> Problem | None:
    """NVIDIA's adapters, data center GPUs, the proprietary modules, and no peermem.

    A warning where jobs span machines: within one the adapter is not used.
    """
    devices = known(facts.host.rdma_devices)
    if not devices or not any(map(is_data_center, gpus_of(facts, "nvidia"))):
        return None
    kernel = facts.nvidia.kernel
    modules = known(kernel.modules)
    if "mlx5_ib" not in modules or "nvidia" not in modules or any(name in modules for name in _PEERS):
        return None
    if known(kernel.flavor) != "proprietary":
        return None
    asked = asking(facts)
    message = (
        f"Network adapters with RDMA ({', '.join(devices[:4])}) cannot reach GPU memory: nvidia_peermem is not loaded, "
        f"and the proprietary driver {present(kernel.loaded)} has no DMA-BUF."
    )
    return Problem(message, asked, severity=None if asked or spans_machines(facts) else Severity.ADVICE)
