"""An AMD GPU whose kernel driver is not loaded."""

from gpudoctor.check_engine import Action, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import amd, blacklist, kernel_packages, system
from gpudoctor.knowledge import packages
from gpudoctor.maybe import known, known_or
from gpudoctor.queries import module_refusals
from gpudoctor.queries.kernel_log import events
from gpudoctor.queries.module_refusals import DRIVER_BTF, KERNEL_BTF, MODULES_MISSING, SYMBOL_VERSIONS
from gpudoctor.targets import amd_compute, cards_of, in_container
from gpudoctor.tasks import Shell, Task, as_root, filtered, query

_PROOF = query("ls", "-l", "/dev/kfd")
GRAPHICS_OFF = "nomodeset"
SECURE_BOOT = "secure boot"


# What the log has about a module that was not loaded.
_KINDS = (
    "amdgpu-init-failed",
    "amdgpu-firmware",
    "vermagic",
    "btf-refused",
    "symbol-mismatch",
    "unknown-symbol",
    "module-rejected",
)


def _why(facts: Facts) -> str:
    """What keeps the module from loading, as far as the facts show."""
    if known_or(facts.amd.blacklisted, False):
        return "blacklisted"
    if _rejected(facts):
        return SECURE_BOOT
    if GRAPHICS_OFF in known_or(facts.host.kernel.command_line, "").split():
        return GRAPHICS_OFF
    refused = module_refusals.refusal(facts, "amdgpu")
    if refused:
        return refused
    owners = {known_or(c.driver, None) for c in cards_of(facts, "amd")}
    return next((owner for owner in ("vfio-pci", "radeon") if owners == {owner}), "")


def _rejected(facts: Facts) -> bool:
    """Whether Secure Boot rejected a module, and AMD's own, which only this machine signs, is installed."""
    own = any(d.state.startswith("installed") for d in known_or(facts.amd.dkms, None) or ())
    return own and known_or(facts.host.kernel.secure_boot, None) is True and bool(events(facts, "module-rejected"))


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if in_container(facts):
        return (
            Fix("On the host: load amdgpu, then restart the container.", (as_root("modprobe", "amdgpu"),), root=True),
        )
    why = _why(facts)
    if why == "blacklisted":
        return blacklist.lift(facts, "amdgpu", facts.amd.blacklist_lines, _PROOF)
    if why == GRAPHICS_OFF:
        message = "Remove nomodeset from the kernel command line: amdgpu refuses to load with it."
        return (_restart(message, as_root("sed", "-i", "s/ *nomodeset//", "/etc/default/grub"), _grub(facts)),)
    if why == SECURE_BOOT:
        return _trust(facts)
    if why == KERNEL_BTF:
        return kernel_packages.reinstall_kernel(facts, _PROOF)
    if why == MODULES_MISSING:
        return (kernel_packages.extra_modules(facts, "amdgpu", _PROOF),)
    if why in (DRIVER_BTF, SYMBOL_VERSIONS):
        return _build_again(facts)
    if why == "radeon":
        message = "Use the CPU or another GPU: the radeon driver is for GPUs before GCN 3, which ROCm never supported."
        return (Fix(message, impact="none"),)
    if why == "vfio-pci":
        return (Fix("Give the GPU back to the host: remove it from vfio-pci's ids, then reboot.", (), root=True),)
    missing = module_refusals.unprovided(facts, "amdgpu")
    if missing:
        return kernel_packages.load_provider(facts, missing, ("amdgpu",), _PROOF)
    family = system.family_of(facts)
    identity = known_or(facts.host.distribution.id, "")
    firmware = packages.amd_firmware_package(family, identity) if family else ""
    load = Fix(
        "Load the module; its log messages show why it did not load.",
        (
            as_root("modprobe", "amdgpu"),
            filtered(query("dmesg", root=True), query("grep", "-iE", "amdgpu|kfd"), query("tail", "-n", "30")),
        ),
        "reload-module",
        root=True,
        verify=_PROOF,
    )
    message = "If firmware is missing, install it, rebuild the initramfs, and reboot."
    split = module_refusals.lacks_extra_modules(facts)
    extra = (kernel_packages.extra_modules(facts, "amdgpu", _PROOF),) if split else ()
    brought = system.install(facts, firmware) if firmware else ()
    return load, *extra, _restart(message, *brought, *system.initramfs(facts), action="reinstall-package")


def _build_again(facts: Facts) -> tuple[Fix, ...]:
    """Build AMD's module for this kernel; the kernel's own module comes with newer packages of the kernel."""
    family, kernel = system.family_of(facts), system.kernel_of(facts)
    names = tuple(name for name, _, _ in known_or(facts.amd.packages, ()) if name.endswith("-dkms"))
    if family is None or not names:
        return kernel_packages.reinstall_kernel(facts, _PROOF)
    headers = system.reinstall(facts, packages.headers_package(family, kernel))
    message = "Reinstall the running kernel's headers and AMD's module, which builds it again for this kernel."
    return (_restart(message, *headers, *system.reinstall(facts, *names), action="reinstall-package"),)


def _trust(facts: Facts) -> tuple[Fix, ...]:
    ubuntu = facts.host.distribution.id == "ubuntu"
    key = "/var/lib/shim-signed/mok/MOK.der" if ubuntu else "/var/lib/dkms/mok.pub"
    enroll = Fix(
        "Enroll the key with which DKMS signs modules here: set a password, reboot, choose Enroll MOK in the menu.",
        (as_root("mokutil", "--import", key), as_root("reboot")),
        "reboot",
        root=True,
        needs="reboot",
        impact="persistent",
        undo=(as_root("mokutil", "--delete", key),),
        verify=Shell("mokutil --list-enrolled; ls -l /dev/kfd", lookup=True),
    )
    names = tuple(name for name, _, _ in known_or(facts.amd.packages, ()) if name.endswith("-dkms"))
    message = "Remove AMD's module: the kernel's own amdgpu is signed by the distribution, and works with ROCm too."
    removed = system.remove(facts, *(names or ("amdgpu-dkms",)))
    return enroll, _restart(message, *removed, action="reinstall-package")


def _grub(facts: Facts) -> Task:
    debian = system.family_of(facts) == "debian"
    return as_root("update-grub") if debian else as_root("grub2-mkconfig", "-o", "/boot/grub2/grub.cfg")


def _restart(message: str, *commands: Task, action: Action = "reboot") -> Fix:
    tasks = (*commands, as_root("reboot"))
    return Fix(message, tasks, action, root=True, needs="reboot", verify=_PROOF)


@check(
    title="Kernel driver amdgpu is not loaded",
    severity=Severity.ERROR,
    cause="ROCm and HIP reach the GPU through the kernel module amdgpu and its compute part, KFD (/dev/kfd). The "
    "module comes with the kernel or with AMD's package amdgpu-dkms.",
    fixes=_fixes,
    references=(amd.INSTALL, "https://docs.kernel.org/gpu/amdgpu/index.html"),
    targets=amd_compute,
    caused_by=("rocm.dkms-build-failed", "rocm.half-installed"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def not_loaded(facts: Facts) -> Problem | None:
    """There is an AMD GPU on PCI, but no amdgpu."""
    if known(facts.amd.loaded) or not cards_of(facts, "amd") or known_or(facts.amd.kfd, ()):
        return None
    if amd.shares_cards(facts):
        return None  # the cards serve virtual machines
    reason = {
        "blacklisted": " It is blacklisted.",
        GRAPHICS_OFF: " The kernel was booted with nomodeset, and amdgpu does not load with it.",
        SECURE_BOOT: " Secure Boot rejects AMD's own module, whose signing key is not enrolled.",
        KERNEL_BTF: " The kernel refuses its own modules (BTF): they are of another build of this kernel.",
        DRIVER_BTF: " The kernel refuses the module (BTF): it was compiled for another build of this kernel.",
        SYMBOL_VERSIONS: " The kernel refuses the module: it was compiled for another build (symbol versions differ).",
        MODULES_MISSING: " It needs symbols of modules that are in the package linux-modules-extra of this kernel, "
        "which is not installed.",
        "radeon": " The older driver radeon is bound to it: ROCm does not support this generation.",
        "vfio-pci": " vfio-pci is bound to the GPU, for a virtual machine.",
    }.get(_why(facts), "")
    missing = module_refusals.unprovided(facts, "amdgpu")
    if missing and not reason:
        reason = f" Its symbol {missing.symbol} is in the kernel's module {missing.provider}, which was not loaded."
    card = cards_of(facts, "amd")[0]
    name = known_or(card.name, None) or card.device
    message = f"amdgpu is not loaded for the GPU at {card.address} ({name}).{reason}"
    lines = amd.log_lines(facts, *_KINDS)
    return Problem(message, lines)
