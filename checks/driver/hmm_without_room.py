"""nvidia_uvm found no room for heterogeneous memory management: cuInit 802 without any NVSwitch."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import fabric, nixos
from gpudoctor.fixes.module_option import in_configuration, option_file
from gpudoctor.maybe import known, present
from gpudoctor.queries.cause_groups import NODES, VERSIONS
from gpudoctor.queries.driver import CUDA_NOT_INITIALIZED, CUDA_NOT_READY, CUDA_UNKNOWN, own_kernel
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.tasks import as_root, filtered, query

# What cuInit returns where nvidia_uvm does not work.
_CODES = (CUDA_NOT_INITIALIZED, CUDA_NOT_READY, CUDA_UNKNOWN)
_QUIET = filtered(query("dmesg", root=True), query("grep", "request_free_mem_region"))
_BROKEN = (
    "On some kernels the open module's heterogeneous memory management (HMM) fails without a message: cuInit returns 3 "
    "or 999 although nvidia-smi works. The proprietary module has no HMM."
)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if nixos.is_nixos(facts):
        message = "Disable HMM in nvidia_uvm and reboot, or boot the kernel with nokaslr."
        return (
            in_configuration(message, 'boot.extraModprobeConfig = "options nvidia_uvm uvm_disable_hmm=1";', _QUIET),
        )
    write, remove = option_file("nvidia-uvm", "uvm_disable_hmm=1", of="nvidia_uvm")
    return (
        Fix(
            "Disable HMM in nvidia_uvm and reload it, or boot the kernel with nokaslr.",
            (write, as_root("modprobe", "-r", "nvidia_uvm"), as_root("modprobe", "nvidia_uvm")),
            "reload-module",
            root=True,
            impact="persistent",
            undo=(remove,),
            verify=_QUIET,
        ),
    )


@check(
    title="nvidia_uvm cannot use HMM on this kernel: cuInit 3 or 802",
    severity=Severity.ERROR,
    cause="Heterogeneous memory management (HMM) needs free physical addresses. With KASLR the kernel may leave none "
    "(request_free_mem_region), and cuInit returns 802 although there is no NVSwitch.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/index.html",
        "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/901",
        "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/947",
    ),
    targets=own_kernel,
    caused_by=(
        "fabric.manager-down",
        "fabric.manager-mismatch",
        "device.confidential-not-ready",
        *VERSIONS,
        *NODES,
    ),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def hmm_without_room(facts: Facts) -> Problem | None:
    """The result 802 of cuInit, or the kernel's message about it, on a machine without NVSwitch boards."""
    logged, code = events(facts, "uvm-hmm"), known(facts.nvidia.cuda.code)
    # Each other error (a mask, versions that differ) has its own cause, whatever is in the log.
    if code == CUDA_NOT_INITIALIZED and not logged and _runs_with_hmm(facts):
        message = (
            "cuInit returns 3 though the open module is loaded and NVML responds: HMM in nvidia_uvm, which is on, is "
            "the known cause."
        )
        return Problem(message, ("/sys/module/nvidia_uvm/parameters/uvm_disable_hmm: N",), _BROKEN)
    if code not in (_CODES if logged else (CUDA_NOT_READY,)) or (not logged and fabric.needs_manager(facts)):
        return None
    if not logged and fabric.is_confidential_guest(facts):
        return None
    message = f"cuInit returns {present(code)} on a machine without NVSwitch: nvidia_uvm could not set up HMM."
    return Problem(message, texts(logged))


def _runs_with_hmm(facts: Facts) -> bool:
    """Whether the open module works but for CUDA, with HMM on and no error of a GPU in the log."""
    kernel = facts.nvidia.kernel
    loaded = kernel.flavor == "open" and "nvidia_uvm" in known(kernel.modules)
    quiet = not events(facts, "xid", "gsp-failed", "rm-init-failed", "fallen-off-bus")
    return loaded and facts.nvidia.nvml.code == 0 and quiet and kernel.parameters.get("uvm_disable_hmm") == "N"
