"""An AMD GPU whose kernel driver is not loaded."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import amd, system
from gpudoctor.knowledge import packages
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.kernel_log import events
from gpudoctor.targets import amd_compute, cards_of, in_container
from gpudoctor.tasks import Shell, Task, as_root, filtered, query

GRAPHICS_OFF = "nomodeset"
SECURE_BOOT = "secure boot"
SPLIT = "split kernel"
_NOT_FOUND = -2  # ENOENT: no loaded module exports the symbol


def _why(facts: Facts) -> str:
    """What keeps the module from loading, as far as the facts show."""
    if known_or(facts.amd.blacklisted, False):
        return "blacklisted"
    if _rejected(facts):
        return SECURE_BOOT
    if GRAPHICS_OFF in known_or(facts.host.kernel.command_line, "").split():
        return GRAPHICS_OFF
    if _lacks_modules(facts):
        return SPLIT
    owners = {known_or(c.driver, None) for c in cards_of(facts, "amd")}
    return next((owner for owner in ("vfio-pci", "radeon") if owners == {owner}), "")


def _lacks_modules(facts: Facts) -> bool:
    """Whether a module that amdgpu needs is missing: Ubuntu's cloud kernels have it in linux-modules-extra.

    amdgpu finds no symbol of it (err -2), such as amd_iommu_v2's: awsdocs/amazon-ec2-user-guide#152. A module that DKMS
    built for another kernel lacks symbols, too.
    """
    missing = any(e.what.get("module") == "amdgpu" and e.code == _NOT_FOUND for e in events(facts, "unknown-symbol"))
    return missing and facts.host.distribution.id == "ubuntu" and not known_or(facts.amd.dkms, None)


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
        message = (
            "Remove amdgpu from the blacklist (a file in /etc/modprobe.d, or the kernel command line), then reboot."
        )
        commands = (
            query("grep", "-rn", "amdgpu", "/etc/modprobe.d", "/usr/lib/modprobe.d", "/proc/cmdline"),
            *system.initramfs(facts),
        )
        return (_restart(message, *commands),)
    if why == GRAPHICS_OFF:
        message = "Remove nomodeset from the kernel command line: amdgpu refuses to load with it."
        return (_restart(message, as_root("sed", "-i", "s/ *nomodeset//", "/etc/default/grub"), _grub(facts)),)
    if why == SECURE_BOOT:
        return _trust(facts)
    if why == SPLIT:
        message = "Install the other modules of this kernel, then load amdgpu."
        extra = system.install(facts, f"linux-modules-extra-{system.kernel_of(facts)}")
        commands = (*extra, as_root("modprobe", "amdgpu"))
        return (Fix(message, commands, "reinstall-package", root=True, verify=query("ls", "-l", "/dev/kfd")),)
    if why == "radeon":
        message = "Use the CPU or another GPU: the radeon driver is for GPUs before GCN 3, which ROCm never supported."
        return (Fix(message, impact="none"),)
    if why == "vfio-pci":
        return (Fix("Give the GPU back to the host: remove it from vfio-pci's ids, then reboot.", (), root=True),)
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
        verify=query("ls", "-l", "/dev/kfd"),
    )
    message = "If firmware is missing, install it, rebuild the initramfs, and reboot."
    return load, _restart(message, *(system.install(facts, firmware) if firmware else ()), *system.initramfs(facts))


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
    return enroll, _restart(message, *system.remove(facts, *(names or ("amdgpu-dkms",))))


def _grub(facts: Facts) -> Task:
    debian = system.family_of(facts) == "debian"
    return as_root("update-grub") if debian else as_root("grub2-mkconfig", "-o", "/boot/grub2/grub.cfg")


def _restart(message: str, *commands: Task) -> Fix:
    return Fix(
        message,
        (*commands, as_root("reboot")),
        "reboot",
        root=True,
        needs="reboot",
        verify=query("ls", "-l", "/dev/kfd"),
    )


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
        SPLIT: " It needs symbols of a module that is in the package linux-modules-extra of this kernel.",
        "radeon": " The older driver radeon is bound to it: ROCm does not support this generation.",
        "vfio-pci": " vfio-pci is bound to the GPU, for a virtual machine.",
    }.get(_why(facts), "")
    card = cards_of(facts, "amd")[0]
    name = known_or(card.name, None) or card.device
    message = f"amdgpu is not loaded for the GPU at {card.address} ({name}).{reason}"
    lines = amd.log_lines(
        facts, "amdgpu-init-failed", "amdgpu-firmware", "vermagic", "unknown-symbol", "module-rejected"
    )
    return Problem(message, lines)
