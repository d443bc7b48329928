"""The module is installed for the running kernel, nothing is known to block it, but it is not loaded."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import NVIDIA_SMI, kernel_packages, module
from gpudoctor.maybe import Unknown, known
from gpudoctor.queries.cause_groups import NOT_LOADED, SURROUNDINGS
from gpudoctor.queries.driver import module_version, not_wsl
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.queries.module_refusals import DRIVER_BTF, KERNEL_BTF, MODULES_MISSING, refusal, unprovided
from gpudoctor.queries.wanted import left_off
from gpudoctor.targets import cards_of, in_container
from gpudoctor.tasks import as_root, filtered, query

_SYMBOLS = (
    "A module loads only when other loaded modules export the symbols that it needs. modprobe loads those first where "
    "its list of dependencies (modules.dep) has them, and insmod or a driver container's own directory of modules does "
    "not. If one of several modules is refused, what loads them together unloads the others, too."
)


def _why(facts: Facts) -> str | None:
    return None if in_container(facts) else refusal(facts, "nvidia")


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if in_container(facts):
        message = "On the host: load NVIDIA's module, or install its driver; then start the container again."
        return (module.on_the_host(message, as_root("modprobe", "nvidia"), query("nvidia-smi")),)
    why = _why(facts)
    if why == KERNEL_BTF:
        return kernel_packages.reinstall_kernel(facts, NVIDIA_SMI)
    if why == DRIVER_BTF:
        return kernel_packages.build_again(facts, NVIDIA_SMI)
    if why == MODULES_MISSING:
        return (kernel_packages.extra_modules(facts, "nvidia", NVIDIA_SMI),)
    missing = unprovided(facts, "nvidia")
    if missing:
        needed = dict.fromkeys(("nvidia", "nvidia_uvm", missing.module))
        return kernel_packages.load_provider(facts, missing, tuple(needed), NVIDIA_SMI)
    message = "Load the module; if that fails, the last lines of the kernel log show why."
    commands = (as_root("modprobe", "nvidia"), filtered(query("dmesg", root=True), query("tail", "-n", "20")))
    return (
        Fix(
            message,
            commands,
            "reload-module",
            root=True,
            undo=(as_root("modprobe", "-r", "nvidia"),),
            verify=query("nvidia-smi"),
        ),
    )


@check(
    title="NVIDIA's kernel module is not loaded",
    severity=Severity.ERROR,
    cause="Without the kernel module nvidia no program can reach the GPU: nvidia-smi fails (\"couldn't communicate "
    'with the NVIDIA driver"), and cuInit finds no device.',
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html",
        "https://github.com/pop-os/pop/issues/3961",
    ),
    targets=not_wsl,
    caused_by=(*(id_ for id_ in NOT_LOADED if id_ != "driver.not-loaded"), *SURROUNDINGS),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def not_loaded(facts: Facts) -> Problem | None:
    """No /proc/driver/nvidia though a card and a module are present."""
    kernel = facts.nvidia.kernel
    if known(kernel.loaded) is not None or not cards_of(facts, "nvidia"):
        return None
    if not isinstance(kernel.on_disk, Unknown) and not kernel.on_disk:
        return None
    version = module_version(facts)
    failed = texts(
        events(facts, "probe-failed", "no-device-probed", "btf-refused", "unknown-symbol", "symbol-mismatch")
    )
    reason = {
        KERNEL_BTF: " The kernel refuses modules of its own (BTF validation fails): they are of another build of this "
        "kernel.",
        DRIVER_BTF: " The kernel refuses it (BTF validation fails): it was compiled for another build of this kernel.",
        MODULES_MISSING: " It needs symbols of modules that are in the package linux-modules-extra of this kernel, "
        "which is not installed.",
    }.get(_why(facts) or "", "")
    missing = unprovided(facts, "nvidia")
    if missing and not reason:
        reason = (
            f" The kernel refused {missing.module}: its symbol {missing.symbol} is in the kernel's module "
            f"{missing.provider}, which was not loaded."
        )
    where = "on the host" if in_container(facts) else f"(module {version} is installed on disk)" if version else ""
    cause = _SYMBOLS if missing else None
    message = f"The kernel module nvidia is not loaded {where}".rstrip() + f".{reason}"
    return Problem(message, failed, cause, severity=Severity.WARNING if left_off(facts) else None)
