"""Fixes that change how the kernel starts."""

from gpudoctor.facts import Facts
from gpudoctor.judge import Fix
from gpudoctor.remedies.system import family_of, is_image
from gpudoctor.subjects import in_container


def kernel_parameter(facts: Facts, says: str, parameter: str, verify: str | None = None) -> Fix:
    """Add a parameter to the kernel's command line and restart; by hand where the boot loader is not known.

    Args:
        facts: the machine.
        says: what it does, a sentence.
        parameter: the parameter.
        verify: the command that shows that it helped.
    """
    where = "On the host: " if in_container(facts) else ""
    return Fix(
        f"{where}{says} Add {parameter} to the kernel's command line and restart.",
        (*_commands(facts, parameter), "sudo reboot"),
        "reboot",
        root=True,
        needs="reboot",
        impact="persistent",
        undo=f"Take {parameter} out again in the same way, and restart.",
        verify=verify or "cat /proc/cmdline",
    )


def _commands(facts: Facts, parameter: str) -> tuple[str, ...]:
    family = family_of(facts)
    if is_image(facts):
        return (f"sudo rpm-ostree kargs --append-if-missing={parameter}",)
    if family == "fedora":
        return (f'sudo grubby --update-kernel=ALL --args="{parameter}"',)
    add = f"sudo sed -i 's/^\\(GRUB_CMDLINE_LINUX=\"[^\"]*\\)/\\1 {parameter}/' /etc/default/grub"
    make = {"debian": "sudo update-grub", "suse": "sudo grub2-mkconfig -o /boot/grub2/grub.cfg"}
    make["arch"] = "sudo grub-mkconfig -o /boot/grub/grub.cfg"
    return (add, make[family]) if family in make else ()
