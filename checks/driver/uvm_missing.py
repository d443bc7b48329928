"""The driver works and its unified-memory half, nvidia-uvm, is missing: nvidia-smi works, CUDA does not."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import module
from gpudoctor.fixes.container import pass_gpus
from gpudoctor.knowledge.kernels import version
from gpudoctor.maybe import known, present
from gpudoctor.queries.cause_groups import DEAD, SURROUNDINGS, VERSIONS
from gpudoctor.queries.driver import (
    CUDA_BUSY,
    CUDA_COMPAT,
    CUDA_MISMATCH,
    CUDA_NOT_READY,
    CUDA_STUB,
    cuda_fails,
    not_wsl,
)
from gpudoctor.targets import in_container, in_system_container
from gpudoctor.tasks import Edit, as_root, query

_NODE = "/dev/nvidia-uvm"
# Codes with their own causes: stub, busy, fabric, versions.
_OTHER_REASONS = (CUDA_STUB, CUDA_BUSY, CUDA_NOT_READY, CUDA_MISMATCH, CUDA_COMPAT)
# What cuInit returns where it cannot open the node.
_NO_UVM = (304, 999)
_MAKE = (as_root("modprobe", "nvidia_uvm"), as_root("nvidia-modprobe", "-c", "0", "-u"))


def _needs_none(facts: Facts) -> bool:
    """Whether this is a Jetson before JetPack 7 (L4T 38), whose GPU has a driver without nvidia-uvm (nvgpu)."""
    if facts.host.platform != "jetson":
        return False
    release = known(facts.host.l4t)
    return release is None or version(release)[:1] < (38,)


def _wrong_major(facts: Facts) -> int | None:
    """The node's major number where it is not the module's, which the kernel assigns at every boot."""
    kernel = facts.nvidia.kernel
    node = next((n for n in known(kernel.nodes) if n.path == _NODE), None)
    if node is None or not isinstance(node.major, int) or not isinstance(kernel.uvm_major, int) or node.major == 0:
        return None
    return node.major if node.major != kernel.uvm_major else None


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if not in_container(facts):
        if _wrong_major(facts) is not None:
            remake = (as_root("rm", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"), *_MAKE[1:])
            return (Fix("Recreate the node with the module's major number.", remake, "reload-module", root=True),)
        if module.kernel_gone(facts):
            return (module.into_new_kernel(facts),)
        message = "Load nvidia_uvm and create its device nodes."
        boot = Edit("/etc/modules-load.d/nvidia-uvm.conf", text="nvidia_uvm\n", root=True)
        return (
            Fix(
                message,
                (*_MAKE, boot),
                "reload-module",
                root=True,
                undo=(as_root("rmmod", "nvidia_uvm"),),
                verify=query("ls", "-l", "/dev/nvidia-uvm"),
            ),
        )
    if _wrong_major(facts) is not None and not in_system_container(facts):
        return _stale_in_container()
    host = module.on_the_host(
        "On the host: load nvidia_uvm and create its device nodes, then start the container again.", *_MAKE
    )
    device = "--device /dev/nvidia-uvm --device /dev/nvidia-uvm-tools"
    passing = Fix(
        f"Pass the nodes to the container too: {device}, or let the NVIDIA Container Toolkit (CDI: --device "
        "nvidia.com/gpu=all) do it.",
        (),
        "restart-process",
        needs="restart of the container",
        verify=query("ls", "-l", "/dev/nvidia-uvm"),
    )
    return (host, *pass_gpus(facts)) if in_system_container(facts) else (host, passing)


def _stale_in_container() -> tuple[Fix, ...]:
    """The node was made from a number of an earlier boot: by a CDI specification, or with the container itself."""
    generate = as_root("nvidia-ctk", "cdi", "generate", "--output=/etc/cdi/nvidia.yaml")
    message = (
        "On the host: regenerate the CDI specification, which contains the old number, then recreate the container."
    )
    return (
        module.on_the_host(message, generate),
        module.on_the_host(
            "Without CDI: make sure that the host's own node has the module's number, then recreate the container (a "
            "restart keeps its nodes).",
            query("ls", "-l", _NODE),
            *_MAKE,
        ),
    )


_STALE = (
    "The kernel assigns the major number of nvidia-uvm at each boot (or load of the module). A node in /dev that was "
    "made with an older number leads to nothing (ENXIO, No such device or address), so CUDA fails and nvidia-smi works."
)


@check(
    title="nvidia-uvm is missing: nvidia-smi works, CUDA does not",
    severity=Severity.ERROR,
    cause="CUDA needs a second kernel module, nvidia_uvm (Unified Virtual Memory), and its node /dev/nvidia-uvm. NVML "
    "does not, which is why nvidia-smi works. It is loaded at first use, by root or by the setuid tool "
    "nvidia-modprobe.",
    fixes=_fixes,
    references=(
        "https://download.nvidia.com/XFree86/Linux-x86_64/580.95.05/README/nvidia-uvm.html",
        "https://github.com/pytorch/pytorch/issues/49081",
    ),
    targets=not_wsl,
    caused_by=(*DEAD, *VERSIONS, "driver.glx-alternative", "driver.device-nodes-missing", *SURROUNDINGS),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def uvm_missing(facts: Facts) -> Problem | None:
    """CUDA fails, other nodes exist, and the node or the module of UVM is missing."""
    kernel = facts.nvidia.kernel
    if known(kernel.loaded) is None or not cuda_fails(facts):
        return None
    code = present(facts.nvidia.cuda.code)
    if code in _OTHER_REASONS:
        return None
    paths = {node.path for node in known(kernel.nodes)}
    if "/dev/nvidiactl" not in paths or _needs_none(facts):
        return None
    where = "the container" if in_container(facts) else "this machine"
    wrong = _wrong_major(facts)
    if wrong is not None and code in _NO_UVM:
        message = (
            f"{_NODE} has the major number {wrong}, but the module nvidia-uvm has {present(kernel.uvm_major)}: the "
            "node is from an earlier boot."
        )
        return Problem(message, (f"cuInit: {code}", f"/proc/devices: {present(kernel.uvm_major)} nvidia-uvm"), _STALE)
    node, loaded = _NODE in paths, not isinstance(kernel.modules, tuple) or "nvidia_uvm" in kernel.modules
    if node and (loaded or kernel.uvm_major is not None):
        return None
    evidence = (f"/dev: {', '.join(sorted(p.removeprefix('/dev/') for p in paths))}", f"cuInit: {code}")
    if not node:
        also = "" if loaded else " The module nvidia_uvm is not loaded either."
        return Problem(f"{_NODE} is missing in {where}, so CUDA cannot start (cuInit {code}).{also}", evidence)
    return Problem(f"The module nvidia_uvm is not loaded, so CUDA cannot start (cuInit {code}).", evidence)
