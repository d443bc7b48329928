"""Fixes that keep an open-source driver from claiming the GPU before NVIDIA's driver does."""

from gpudoctor.check_engine import Action, Fix
from gpudoctor.digits import numbers_in
from gpudoctor.facts import Facts
from gpudoctor.fixes import module, nixos, system
from gpudoctor.fixes.module_option import in_configuration
from gpudoctor.maybe import known_or
from gpudoctor.targets import in_container
from gpudoctor.tasks import Edit, Tasks, as_root, query


def reboot_without(facts: Facts, message: str, modules: str, *blacklists: Edit, first: Tasks = ()) -> tuple[Fix, ...]:
    """Blacklist modules everywhere, and reboot; in a container this is done on its host.

    Args:
        facts: of the machine.
        message: what to do, as a sentence.
        modules: for the kernel's command line, with commas between them.
        blacklists: files to be written first.
        first: what comes before all else.
    """
    lacking, room = _room_in_boot(facts)
    message += lacking
    commands: Tasks = (
        *first,
        *blacklists,
        *room,
        *system.initramfs(facts),
        *_command_line(facts, modules),
        as_root("reboot"),
    )
    if in_container(facts):
        return (module.on_the_host(f"On the host: {message}", *commands),)
    proof = query("lspci", "-k", "-d", "10de:")
    if nixos.is_nixos(facts):  # it generates modprobe.d and the initial RAM disk from its configuration
        names = modules.split(",")
        quoted = " ".join(f'"{name}"' for name in names)
        setting = f"boot.blacklistedKernelModules = [ {quoted} ];"
        return (in_configuration(f"Blacklist {', '.join(names)} in the configuration, then reboot.", setting, proof),)
    undo = tuple(Edit(one.path, gone=True, root=True) for one in blacklists)
    action: Action = "reinstall-package" if len(room) > 1 else "reboot"
    return (Fix(message, commands, action, root=True, needs="reboot", undo=undo, verify=proof),)


def boot_is_full(facts: Facts) -> bool:
    """Whether /boot has no room for a second initial RAM disk, which is written before the first is replaced."""
    kernel = facts.host.kernel
    free, needed = known_or(kernel.boot_free, None), known_or(kernel.initramfs, None)
    return free is not None and needed is not None and free < needed


def _room_in_boot(facts: Facts) -> tuple[str, Tasks]:
    """What /boot lacks, and what makes room: an older kernel than the running one goes, where its package is known."""
    if not boot_is_full(facts) or not system.initramfs(facts):
        return "", ()
    kernel = facts.host.kernel
    spare = next(
        (name for name in known_or(kernel.others, ()) if numbers_in(name) < numbers_in(system.kernel_of(facts))), ""
    )
    removed = system.remove(facts, f"linux-image-{spare}") if spare and system.family_of(facts) == "debian" else ()
    room = f"kernel {spare}, which is not running, is removed for it" if removed else "free space there first"
    free, needed = known_or(kernel.boot_free, 0), known_or(kernel.initramfs, 0) or 0
    text = f" /boot has {free >> 20} MiB left, and the new initial RAM disk needs {needed >> 20} MiB: {room}."
    return text, (query("df", "-h", "/boot"), *removed)


def _command_line(facts: Facts, modules: str) -> Tasks:
    """Fedora's and SUSE's initial RAM disks load display drivers early: there the command line decides."""
    if system.family_of(facts) != "fedora":
        return ()
    names = (f"rd.driver.blacklist={modules}", f"modprobe.blacklist={modules}")
    if system.is_image(facts):
        return (as_root("rpm-ostree", "kargs", *(f"--append-if-missing={name}" for name in names)),)
    return (as_root("grubby", "--update-kernel=ALL", f"--args={' '.join(names)}"),)
