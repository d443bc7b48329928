"""An option of a kernel module, set so that it holds at every boot."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import module, nixos, system
from gpudoctor.targets import in_container
from gpudoctor.tasks import Edit, Task, Tasks, as_root, query

_DRIVER = query("nvidia-smi")


def option_file(name: str, options: str, of: str = "nvidia") -> tuple[Edit, Edit]:
    """Return the edits that write a file of options in modprobe.d, and that remove it.

    modprobe reads the files of all its directories in the order of their names, and of two values the module takes the
    last (modprobe.d(5)): the file's name begins with zz, after those of packages and tools.

    Args:
        name: what the file is called, without directory and ending.
        options: "NVreg_EnableResizableBar=0".
        of: the module.
    """
    path = f"/etc/modprobe.d/zz-{name}.conf"
    return Edit(path, text=f"options {of} {options}\n", root=True), Edit(path, gone=True, root=True)


def set_option(
    facts: Facts,
    message: str,
    option: str,
    name: str,
    of: str = "nvidia",
    verify: Task = _DRIVER,
    also: Tasks = (),
) -> Fix:
    """Set an option of a kernel module, also in the copy of the initial RAM disk, and reboot.

    Args:
        facts: the machine.
        message: what it does, a sentence without its end.
        option: "NVreg_EnableResizableBar=0".
        name: what the file is called, without directory and ending.
        of: the module.
        verify: what shows after the reboot that it helped.
        also: what else is to be done before the reboot; NixOS does it by itself.
    """
    write, remove = option_file(name, option, of)
    commands: Tasks = (write, *system.initramfs(facts), *also, as_root("reboot"))
    plain = f"{message}: set {option} for the module {of}, then reboot."
    text = plain + system.initramfs_hint(facts)
    if in_container(facts):
        return module.on_the_host(f"On the host: {text[0].lower()}{text[1:]}", *commands)
    if nixos.is_nixos(facts):
        return in_configuration(plain, f'boot.extraModprobeConfig = "options {of} {option}";', verify)
    return Fix(
        text,
        commands,
        "reboot",
        root=True,
        needs="reboot",
        impact="persistent",
        undo=(remove,),
        verify=verify,
    )


def in_configuration(message: str, settings: str, verify: Task | None = None) -> Fix:
    """Set options of modules in NixOS's configuration, which a file in /etc/modprobe.d does not outlive, and reboot."""
    tasks = (*nixos.for_boot(settings), as_root("reboot"))
    undo = nixos.back("boot")
    return Fix(message, tasks, "reboot", root=True, needs="reboot", impact="persistent", undo=undo, verify=verify)
