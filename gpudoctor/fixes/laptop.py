"""Fixes of laptops with two GPUs: enable the NVIDIA GPU with the tool that switched it off."""

from collections.abc import Sequence

from gpudoctor.check_engine import Fix
from gpudoctor.tasks import Command, Edit, Tasks, as_root, cmd, query

# The READMEs of bayasdev/envycontrol, gitlab.com/asus-linux/supergfxctl, pop-os/system76-power and
# Askannz/optimus-manager.
_COMMANDS = {
    "envycontrol": (as_root("envycontrol", "-s", "hybrid"), as_root("envycontrol", "-s", "integrated")),
    "supergfxctl": (cmd("supergfxctl", "--mode", "Hybrid"), cmd("supergfxctl", "--mode", "Integrated")),
    "system76-power": (
        as_root("system76-power", "graphics", "hybrid"),
        as_root("system76-power", "graphics", "integrated"),
    ),
    "optimus-manager": (cmd("optimus-manager", "--switch", "hybrid"), cmd("optimus-manager", "--switch", "integrated")),
    "prime-select": (as_root("prime-select", "on-demand"), as_root("prime-select", "intel")),
}


def switch_on(tool: str, files: Sequence[str] = ()) -> tuple[Fix, ...]:
    """Switch the GPU on with its tool, or remove the files that switch it off, and reboot.

    Args:
        tool: a tool's name, or "udev" where the files are nobody's.
        files: what switches the GPU off.
    """
    fixes = []
    firmware = [name for name in files if name.startswith("/sys/")]
    if firmware:
        message = "Nothing is broken: enable the NVIDIA GPU in the firmware, then reboot."
        fixes.append(
            _restart(message, (Edit(firmware[0], text="0\n", root=True),), (Edit(firmware[0], text="1\n", root=True),))
        )
    if tool in _COMMANDS:
        command, undo = _COMMANDS[tool]
        message = f"Nothing is broken: enable the NVIDIA GPU with {tool} (hybrid mode), then reboot."
        fixes.append(_restart(message, (command,), (undo,)))
    rest = [name for name in files if not name.endswith("supergfxd.conf") and name not in firmware]
    if rest:
        moves = [as_root("mv", name, f"{name}.off") for name in rest]
        gone = "If that tool is no longer installed: rename" if fixes else "Rename"
        message = f"{gone} the files that switch the GPU off, then reboot."
        fixes.append(_restart(message, tuple(moves), tuple(_back(name) for name in rest)))
    return tuple(fixes)


def _back(name: str) -> Command:
    return as_root("mv", f"{name}.off", name)


def _restart(message: str, commands: Tasks, undo: Tasks) -> Fix:
    all_ = (*commands, as_root("reboot"))
    return Fix(message, all_, "reboot", root=True, needs="reboot", undo=undo, verify=query("nvidia-smi"))
