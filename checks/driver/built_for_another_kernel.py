"""NVIDIA's module exists for other kernels than the running one."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import NVIDIA_SMI, jetson, kernel_packages, module, prebuilt, runfile, system
from gpudoctor.fixes.hold import keep_kernel
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.cause_groups import DEAD
from gpudoctor.queries.driver import library_version, own_kernel
from gpudoctor.queries.history import kernel_lines
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.queries.module_refusals import SYMBOL_VERSIONS, refusal
from gpudoctor.targets import cards_of

_READY = (
    "Ubuntu's prebuilt modules (linux-modules-nvidia-...) come in one package per kernel, and nothing here builds "
    "them (no DKMS). A new kernel was booted, and its package is not installed."
)


def _other_build(facts: Facts) -> bool:
    """Whether the module is of another build of this very release: its vermagic fits, its symbol versions do not."""
    return refusal(facts, "nvidia") == SYMBOL_VERSIONS and bool(known_or(facts.nvidia.kernel.on_disk, ()))


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if _other_build(facts):
        jetson_ = facts.host.platform == "jetson"
        return jetson.matching_modules(facts) if jetson_ else kernel_packages.build_again(facts, NVIDIA_SMI)
    return (*module.rebuild(facts, library_version(facts)), *keep_kernel(facts))


@check(
    title="NVIDIA's kernel module was built for a different kernel",
    severity=Severity.ERROR,
    cause="A kernel module works only with the kernel that it was compiled for. A new kernel was booted, and the "
    "module was not built for it: no DKMS, no headers for this kernel, or a custom kernel next to the "
    "distribution's.",
    fixes=_fixes,
    references=(
        "https://download.nvidia.com/XFree86/Linux-x86_64/580.95.05/README/installdriver.html",
        "https://github.com/dell/dkms",
        "https://github.com/realsenseai/realsense_mipi_platform_driver/issues/281",
    ),
    targets=own_kernel,
    caused_by=(
        *DEAD,
        "driver.realtime-kernel",
        "driver.vfio-in-the-way",
        "driver.headers-missing",
        "driver.dkms-entry-stale",
        "driver.dkms-build-failed",
    ),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def built_for_another_kernel(facts: Facts) -> Problem | None:
    """No nvidia.ko for the running kernel though another kernel has one, or one with a foreign vermagic."""
    kernel = facts.nvidia.kernel
    if not (cards_of(facts, "nvidia") or facts.host.platform == "jetson") or known(kernel.loaded) is not None:
        return None
    release, disk = system.kernel_of(facts), known(kernel.on_disk)
    if disk:
        return _foreign(facts, release)
    if facts.host.platform == "jetson":
        return None  # before JetPack 7 its GPU needs no nvidia.ko
    others = [m.kernel for m in known(kernel.other_kernels)]
    others += [e.kernel for e in known_or(kernel.dkms, None) or () if e.kernel and e.state.startswith("installed")]
    elsewhere = [name for name in dict.fromkeys(others) if name != release]
    if not elsewhere:
        return None
    if module.kernel_gone(facts):
        return _gone(facts, release, elsewhere)
    by = " by NVIDIA's .run installer without DKMS" if runfile.uses_runfile(facts) and not kernel.dkms else ""
    return Problem(
        f"The running kernel {release} has no NVIDIA module: it was built{by} only for {', '.join(elsewhere)}.",
        (*kernel_lines(facts), *(m.path for m in known(kernel.other_kernels))),
        _READY if prebuilt.uses(facts) else None,
    )


def _gone(facts: Facts, release: str, elsewhere: list[str]) -> Problem:
    """The package manager replaced the kernel under the running one."""
    message = (
        f"An update replaced the kernel: the modules of the running kernel {release} are gone, and NVIDIA's module "
        f"is installed only for {', '.join(elsewhere)}."
    )
    why = (
        "The package manager removed the old kernel's modules with its package while that "
        "kernel is still running. Modules that were not loaded before can only be loaded after a reboot into the "
        "new kernel."
    )
    return Problem(message, (*kernel_lines(facts), f"/lib/modules/{release}: no modules"), cause=why)


def _foreign(facts: Facts, release: str) -> Problem | None:
    """A module file in the running kernel's directory that was compiled for another kernel."""
    first = known(facts.nvidia.kernel.on_disk)[0]
    if _other_build(facts):
        message = (
            f"The module {first.path} was compiled for another build of the running kernel {release}: the versions of "
            "its symbols (modversions) differ, and the kernel refuses it."
        )
        lines = tuple(e for e in events(facts, "symbol-mismatch") if e.what.get("module") == "nvidia")
        return Problem(message, texts(lines), severity=Severity.WARNING if facts.nvidia.cuda.code == 0 else None)
    logged = events(facts, "vermagic")
    magic = known_or(first.vermagic, None)
    if not any("nvidia" in e.what.get("module", "nvidia") for e in logged):
        return None
    built = f" for kernel {magic}" if magic else ""
    return Problem(f"The module {first.path} was built{built}, not for the running kernel {release}.", texts(logged))
