"""The running kernel: its compiler, lockdown, Secure Boot and headers."""

import re

from gpudoctor.digits import numbers_in
from gpudoctor.facts.host import Kernel
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers.compilers import kernel_compiler

# The GUID of the EFI global variables (UEFI 2.10, 3.3). The file holds 4 bytes of attributes and the value.
SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
# Where modules lie; the last one is NixOS's.
MODULE_FOLDERS = ("/lib/modules", "/usr/lib/modules", "/run/booted-system/kernel-modules/lib/modules")
# "6.8.0-1034-azure": Ubuntu counts its uploads, and leaves upstream's third number 0.
_UBUNTUS = pattern(r"\d+\.\d+\.0-\d+-[a-z]")
_MOST_KERNELS = 8
LOCKDOWN = "/sys/kernel/security/lockdown"


def kernel(machine: Machine, *, inside: bool, debian: bool, wsl: int | None, ubuntu: bool = False) -> Kernel:
    """Return what can be said of the kernel.

    Args:
        machine: where to look.
        inside: whether this is a container, which shows little of its host.
        debian: whether the distribution is of Debian's family, which announces reboots in a file.
        wsl: 1 or 2 on WSL, whose kernel Windows starts, without EFI of its own.
        ubuntu: whether it is Ubuntu, which splits the kernel's modules into two packages.
    """
    release = machine.release()
    room, image = _boot(machine, release, inside or wsl is not None)
    return Kernel(
        release=release,
        compiler=_compiler(machine),
        command_line=_line(machine, "/proc/cmdline"),
        lockdown=_lockdown(machine),
        secure_boot=None if wsl else secure_boot(machine),
        headers=_headers(machine, release, inside),
        reboot_required=_reboot(machine, inside=inside, debian=debian),
        firmware_loader=_firmware_loader(machine, release, inside),
        modules=_modules(machine, release, inside or wsl is not None),
        others=_others(machine, release, inside or wsl is not None),
        by_dracut=_by_dracut(machine, inside or wsl is not None),
        boot_free=room,
        initramfs=image,
        extra_modules=_extra(machine, release, inside or wsl is not None) if ubuntu else None,
    )


def _line(machine: Machine, path: str) -> Maybe[str]:
    text = machine.line(path)
    return Unknown(f"{path} cannot be read") if text is None else text


def _compiler(machine: Machine) -> Maybe[str | None]:
    text = machine.line("/proc/version")
    if text is None:
        return Unknown("/proc/version cannot be read")
    found = kernel_compiler(text)
    return f"{found.name} {found.version}" if found else None


def _lockdown(machine: Machine) -> Maybe[str | None]:
    text = machine.line(LOCKDOWN)
    if text is None:
        there = machine.names("/sys/kernel/security")
        return None if there else Unknown("securityfs is not mounted on /sys/kernel/security here")
    chosen = re.search(r"\[(\w+)\]", text)
    return chosen[1] if chosen else Unknown(f"{LOCKDOWN} contains {text!r}")


def secure_boot(machine: Machine) -> Maybe[bool | None]:
    """Return whether Secure Boot is on, from the EFI variable, else from mokutil; None: no EFI."""
    try:
        data = machine.data(SECURE_BOOT, 64)
        if len(data) == 5:
            return data[4] == 1
        why = f"{SECURE_BOOT} has {len(data)} bytes instead of 5"
    except OSError as error:
        why = f"{SECURE_BOOT}: {error.strerror}"
    said = _mokutil(machine)
    if said is not None:
        return said
    if machine.exists("/sys/firmware/efi"):
        return Unknown(why)
    # Every real machine has something there (acpi, devicetree, memmap); container engines cover it.
    return None if machine.names("/sys/firmware") else Unknown("/sys/firmware is empty here; ask on the host")


def _mokutil(machine: Machine) -> bool | None:
    if machine.which("mokutil") is None:
        return None
    ended = machine.run(["mokutil", "--sb-state"])
    state = re.search(r"SecureBoot (enabled|disabled)", ended.out + ended.err)
    return state[1] == "enabled" if state else None


def _headers(machine: Machine, release: str, inside: bool) -> Maybe[bool]:
    folder = f"/lib/modules/{release}"
    if inside and not machine.exists(folder):
        return Unknown(f"{folder} of the host is not shown in this container")
    return machine.exists(f"{folder}/build/Makefile")


def _modules(machine: Machine, release: str, foreign: bool) -> Maybe[bool]:
    """Whether the running kernel's own modules are still there: Arch and others remove them with the old package.

    What remains of a removed kernel (files that DKMS or modprobe made) has neither a folder `kernel` nor modules.dep.
    """
    if foreign:
        return Unknown("the kernel is the host's, and so are its modules")
    return _has_modules(machine, release)


def _has_modules(machine: Machine, release: str) -> bool:
    folders = [f"{base}/{release}" for base in MODULE_FOLDERS]
    marks = ("kernel", "modules.dep", "modules.builtin")
    return any(machine.exists(f"{folder}/{mark}") for folder in folders for mark in marks)


def _others(machine: Machine, release: str, foreign: bool) -> Maybe[tuple[str, ...]]:
    """The other kernels that can be booted: those whose own modules are there, and whose image is where others' are."""
    if foreign:
        return Unknown("the kernel is the host's, and so are the others")
    found = {name for base in MODULE_FOLDERS for name in machine.names(base) if name[:1].isdigit()} - {release}
    newest = sorted(found, key=numbers_in)[-_MOST_KERNELS:]
    images = {name for name in machine.names("/boot") if name.startswith("vmlinuz-") and name[8:9].isdigit()}
    there = (name for name in newest if not images or f"vmlinuz-{name}" in images or _has_image(machine, name))
    return tuple(name for name in there if _has_modules(machine, name))


def _has_image(machine: Machine, release: str) -> bool:
    """Whether the kernel lies next to its modules, as Fedora's does before it is copied to where the loader reads."""
    return any(machine.exists(f"{base}/{release}/vmlinuz") for base in MODULE_FOLDERS)


def _by_dracut(machine: Machine, foreign: bool) -> Maybe[bool]:
    """On Debian and Ubuntu dracut can take the place of initramfs-tools; some releases of it bring update-initramfs."""
    if foreign:
        return Unknown("the kernel is the host's, and so are its initial RAM disks")
    there = any(machine.exists(f"{folder}/dracut") for folder in ("/usr/bin", "/usr/sbin"))
    return there and not machine.exists("/usr/sbin/update-initramfs")


def _boot(machine: Machine, release: str, foreign: bool) -> tuple[Maybe[int], Maybe[int | None]]:
    """The room in /boot, and the size of the image there: initrd.img-* on Debian, initramfs-*.img on Fedora."""
    if foreign:
        why = Unknown("the kernel is the host's, and so is /boot")
        return why, why
    space = machine.space("/boot")
    images = (machine.status(f"/boot/{name}") for name in (f"initrd.img-{release}", f"initramfs-{release}.img"))
    free = space.free if space else Unknown("statvfs(2) on /boot failed")
    return free, next((one.size for one in images if one), None)


def _extra(machine: Machine, release: str, foreign: bool) -> Maybe[bool | None]:
    """Whether dpkg has the list of files of this kernel's linux-modules-extra; None: the kernel is not Ubuntu's own."""
    if not _UBUNTUS.match(release):
        return None
    if foreign:
        return Unknown("the kernel is the host's, and so are its modules")
    lists = "/var/lib/dpkg/info"
    if not machine.exists(lists):
        return Unknown(f"{lists} is missing")
    return machine.exists(f"{lists}/linux-modules-extra-{release}.list")


def _firmware_loader(machine: Machine, release: str, inside: bool) -> Maybe[bool]:
    """Whether request_firmware() reads files: without CONFIG_FW_LOADER it is a stub (include/linux/firmware.h).

    The loader is a module of its own name, firmware_class, also where it is built in. Only where that is not there
    the kernel's configuration is read.
    """
    if machine.exists("/sys/module/firmware_class"):
        return True
    if inside:
        return Unknown("the kernel is the host's")
    for path in (f"/boot/config-{release}", f"/lib/modules/{release}/config"):
        try:
            text = machine.text(path, 1 << 20)
        except OSError:
            continue
        if re.search(r"^CONFIG_FW_LOADER=[ym]$", text, re.M):
            return True
        return False if "# CONFIG_FW_LOADER is not set" in text else Unknown(f"{path} does not name CONFIG_FW_LOADER")
    return Unknown(f"/boot/config-{release} cannot be read")


def _reboot(machine: Machine, *, inside: bool, debian: bool) -> Maybe[bool]:
    if machine.exists("/run/reboot-required") or machine.exists("/var/run/reboot-required"):
        return True
    if inside:
        return Unknown("a container does not show whether its host needs a reboot")
    return False if debian else Unknown("this distribution does not announce reboots in /run/reboot-required")
