"""Fixes that keep an open-source driver from claiming the GPU before NVIDIA's driver does."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import module, nixos, system
from gpudoctor.fixes.module_option import in_configuration
from gpudoctor.targets import in_container
from gpudoctor.tasks import Edit, Tasks, as_root, query


def reboot_without(facts: Facts, message: str, modules: str, *blacklists: Edit) -> tuple[Fix, ...]:
    """Blacklist modules everywhere, and reboot; in a container this is done on its host.

    Args:
        facts: of the machine.
        message: what to do, as a sentence.
        modules: for the kernel's command line, with commas between them.
        blacklists: files to be written first.
    """
    commands: Tasks = (*blacklists, *system.initramfs(facts), *_command_line(facts, modules), as_root("reboot"))
    if in_container(facts):
        return (module.on_the_host(f"On the host: {message}", *commands),)
    proof = query("lspci", "-k", "-d", "10de:")
    if nixos.is_nixos(facts):  # it generates modprobe.d and the initial RAM disk from its configuration
        names = modules.split(",")
        quoted = " ".join(f'"{name}"' for name in names)
        setting = f"boot.blacklistedKernelModules = [ {quoted} ];"
        return (in_configuration(f"Blacklist {', '.join(names)} in the configuration, then reboot.", setting, proof),)
    undo = tuple(Edit(one.path, gone=True, root=True) for one in blacklists)
    return (Fix(message, commands, "reboot", root=True, needs="reboot", undo=undo, verify=proof),)


def _command_line(facts: Facts, modules: str) -> Tasks:
    """Fedora's and SUSE's initial RAM disks load display drivers early: there the command line decides."""
    if system.family_of(facts) != "fedora":
        return ()
    names = (f"rd.driver.blacklist={modules}", f"modprobe.blacklist={modules}")
    if system.is_image(facts):
        return (as_root("rpm-ostree", "kargs", *(f"--append-if-missing={name}" for name in names)),)
    return (as_root("grubby", "--update-kernel=ALL", f"--args={' '.join(names)}"),)
