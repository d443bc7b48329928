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


def _why(facts: Facts) -> str:
    """What keeps the module away, as far as it is seen."""
    if known_or(facts.amd.blacklisted, False):
        return "blacklisted"
    if _rejected(facts):
        return SECURE_BOOT
    if GRAPHICS_OFF in known_or(facts.host.kernel.command_line, "").split():
        return GRAPHICS_OFF
    owners = {known_or(c.driver, None) for c in cards_of(facts, "amd")}
    return next((owner for owner in ("vfio-pci", "radeon") if owners == {owner}), "")


def _rejected(facts: Facts) -> bool:
    """Whether Secure Boot refused a module, and AMD's own, which nobody but this machine signs, is there to refuse."""
    own = any(d.state.startswith("installed") for d in known_or(facts.amd.dkms, None) or ())
    return own and known_or(facts.host.kernel.secure_boot, None) is True and bool(events(facts, "module-rejected"))


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if in_container(facts):
        return (
            Fix(
                "On the host: load amdgpu, then start the container again.", (as_root("modprobe", "amdgpu"),), root=True
            ),
        )
    why = _why(facts)
    if why == "blacklisted":
        message = (
            "Take amdgpu off the blacklist (a file in /etc/modprobe.d, or the kernel's command line), then restart."
        )
        commands = (
            query("grep", "-rn", "amdgpu", "/etc/modprobe.d", "/usr/lib/modprobe.d", "/proc/cmdline"),
            *system.initramfs(facts),
        )
        return (_restart(message, *commands),)
    if why == GRAPHICS_OFF:
        message = "Take nomodeset off the kernel's command line: amdgpu refuses to start with it."
        return (_restart(message, as_root("sed", "-i", "s/ *nomodeset//", "/etc/default/grub"), _grub(facts)),)
    if why == SECURE_BOOT:
        return _trust(facts)
    if why == "radeon":
        message = "Use the CPU or another GPU: radeon drives generations (before GCN 3) that ROCm has never supported."
        return (Fix(message, impact="none"),)
    if why == "vfio-pci":
        return (Fix("Give the GPU back to the host: take it out of vfio-pci's ids, then restart.", (), root=True),)
    family = system.family_of(facts)
    identity = known_or(facts.host.distribution.id, "")
    firmware = packages.amd_firmware_package(family, identity) if family else ""
    load = Fix(
        "Load the module; what it says tells the rest.",
        (
            as_root("modprobe", "amdgpu"),
            filtered(query("dmesg", root=True), query("grep", "-iE", "amdgpu|kfd"), query("tail", "-n", "30")),
        ),
        "reload-module",
        root=True,
        verify=query("ls", "-l", "/dev/kfd"),
    )
    message = "If it misses firmware, install the firmware, make the initial RAM disk anew, and restart."
    return load, _restart(message, *(system.install(facts, firmware) if firmware else ()), *system.initramfs(facts))


def _trust(facts: Facts) -> tuple[Fix, ...]:
    ubuntu = facts.host.distribution.id == "ubuntu"
    key = "/var/lib/shim-signed/mok/MOK.der" if ubuntu else "/var/lib/dkms/mok.pub"
    enrol = Fix(
        "Enrol the key with which DKMS signs modules here: set a password, restart, choose Enroll MOK in the menu.",
        (as_root("mokutil", "--import", key), as_root("reboot")),
        "reboot",
        root=True,
        needs="reboot",
        impact="persistent",
        undo=(as_root("mokutil", "--delete", key),),
        verify=Shell("mokutil --list-enrolled; ls -l /dev/kfd", lookup=True),
    )
    names = tuple(name for name, _, _ in known_or(facts.amd.packages, ()) if name.endswith("-dkms"))
    message = "Or take AMD's module out: the kernel's own amdgpu is signed by the distribution, and serves ROCm too."
    return enrol, _restart(message, *system.remove(facts, *(names or ("amdgpu-dkms",))))


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
    title="AMD's kernel driver, amdgpu, is not loaded",
    severity=Severity.ERROR,
    cause="ROCm and HIP reach the GPU through the kernel module amdgpu and its compute half, KFD (/dev/kfd). The "
    "module comes with the kernel or with AMD's package amdgpu-dkms.",
    fixes=_fixes,
    references=(amd.INSTALL, "https://docs.kernel.org/gpu/amdgpu/index.html"),
    targets=amd_compute,
    caused_by=("rocm.dkms-build-failed", "rocm.half-installed"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def not_loaded(facts: Facts) -> Problem | None:
    """There is an AMD GPU on PCI, and no amdgpu."""
    if known(facts.amd.loaded) or not cards_of(facts, "amd") or known_or(facts.amd.kfd, ()):
        return None
    if amd.shares_cards(facts):
        return None  # the cards serve virtual machines
    reason = {
        "blacklisted": " It is on a blacklist.",
        GRAPHICS_OFF: " The kernel was started with nomodeset, with which amdgpu does not start.",
        SECURE_BOOT: " Secure Boot refuses AMD's own module, whose key the firmware does not know.",
        "radeon": " The older driver radeon holds it: ROCm does not support this generation.",
        "vfio-pci": " vfio-pci holds the GPU, for a virtual machine.",
    }.get(_why(facts), "")
    card = cards_of(facts, "amd")[0]
    name = known_or(card.name, None) or card.device
    message = f"The GPU at {card.address} ({name}) is there, amdgpu is not loaded.{reason}"
    lines = amd.log_lines(
        facts, "amdgpu-init-failed", "amdgpu-firmware", "vermagic", "unknown-symbol", "module-rejected"
    )
    return Problem(message, lines)
