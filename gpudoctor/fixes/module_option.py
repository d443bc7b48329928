"""An option of NVIDIA's kernel module, set so that it holds at every boot."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import module, system
from gpudoctor.targets import in_container
from gpudoctor.tasks import Edit, Tasks, as_root, query


def set_option(facts: Facts, message: str, option: str, name: str) -> Fix:
    """Set an option in modprobe.d, also in the copy of the initial RAM disk, and reboot.

    modprobe reads the files of all its directories in the order of their names, and of two values the module takes the
    last (modprobe.d(5)): the file's name begins with zz, after those of packages and tools.

    Args:
        facts: the machine.
        message: what it does, a sentence without its end.
        option: "NVreg_EnableResizableBar=0".
        name: what the file is called, without directory and ending.
    """
    file = f"/etc/modprobe.d/zz-{name}.conf"
    commands: Tasks = (
        Edit(file, text=f"options nvidia {option}\n", root=True),
        *system.initramfs(facts),
        as_root("reboot"),
    )
    text = f"{message}: set {option} for the module nvidia, then reboot.{system.initramfs_hint(facts)}"
    if in_container(facts):
        return module.on_the_host(f"On the host: {text}", *commands)
    return Fix(
        text,
        commands,
        "reboot",
        root=True,
        needs="reboot",
        impact="persistent",
        undo=(Edit(file, gone=True, root=True),),
        verify=query("nvidia-smi"),
    )
