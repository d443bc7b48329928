"""What lifts the blacklisting of a kernel module: lines of modprobe.d, and parameters of the kernel command line."""

import msgspec

from gpudoctor.check_engine import Fix
from gpudoctor.facts import ConfigLine, Facts
from gpudoctor.fixes import boot, system
from gpudoctor.maybe import known_or
from gpudoctor.tasks import Task, as_root, query, sed

# modprobe(8), dracut.cmdline(7), and kernel-parameters in the kernel's admin-guide.
_PARAMETERS = ("modprobe.blacklist", "rd.driver.blacklist", "module_blacklist")


def lift(facts: Facts, module: str, lines: tuple[ConfigLine, ...], verify: Task) -> tuple[Fix, ...]:
    """Comment the lines out that blacklist a module and load it, or take it off the kernel command line and reboot.

    Args:
        facts: the machine.
        module: the module.
        lines: those of modprobe.d that blacklist it; empty where they are unknown.
        verify: the command that verifies the fix.
    """
    listed = tuple(word for word in known_or(facts.host.kernel.command_line, "").split() if _is_for(word, module))
    edits = (as_root("sed", "-i", rf"s/^\s*{sed.words(line.text)}\s*$/# &/", line.path) for line in lines)
    tasks = (*edits, *system.initramfs(facts))
    files = " and ".join(dict.fromkeys(line.path for line in lines))
    message = f"Comment out what blacklists {module} in {files}"
    if any(_has_others(word, module) for word in listed):
        begin = f"{message}. " if lines else ""
        text = f"{begin}Take {module} out of {' and '.join(listed)} on the kernel command line and reboot."
        return (Fix(text, tasks if lines else (), "reboot", root=True, needs="reboot", verify=verify),)
    if listed:
        begin = f"{message}." if lines else f"Let {module} be loaded."
        fix = boot.without_parameters(facts, begin, listed, verify)
        return (msgspec.structs.replace(fix, tasks=(*tasks, *fix.tasks) if lines else fix.tasks),)
    if not lines:
        found = query("grep", "-rn", module, "/etc/modprobe.d", "/usr/lib/modprobe.d", "/run/modprobe.d")
        message = f"Delete the line that blacklists {module} from the file that this command finds"
        tasks = (found, *tasks)
    message += ", then load the module."
    return (Fix(message, (*tasks, as_root("modprobe", module)), "reload-module", root=True, verify=verify),)


def _is_for(word: str, module: str) -> bool:
    name, _, modules = word.partition("=")
    return name in _PARAMETERS and module in modules.replace("-", "_").split(",")


def _has_others(word: str, module: str) -> bool:
    """Whether a parameter blacklists other drivers, too; nvidia_drm goes with nvidia."""
    return not all(name.replace("-", "_").startswith(module) for name in word.partition("=")[2].split(","))
