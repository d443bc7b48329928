"""Fixes of laptops with two GPUs: give the NVIDIA GPU back by the tool that switched it off."""

import shlex
from collections.abc import Sequence

from gpudoctor.judge import Fix

# The READMEs of bayasdev/envycontrol, gitlab.com/asus-linux/supergfxctl, pop-os/system76-power and
# Askannz/optimus-manager.
_COMMANDS = {
    "envycontrol": ("sudo envycontrol -s hybrid", "sudo envycontrol -s integrated"),
    "supergfxctl": ("supergfxctl --mode Hybrid", "supergfxctl --mode Integrated"),
    "system76-power": ("sudo system76-power graphics hybrid", "sudo system76-power graphics integrated"),
    "optimus-manager": ("optimus-manager --switch hybrid", "optimus-manager --switch integrated"),
    "prime-select": ("sudo prime-select on-demand", "sudo prime-select intel"),
}


def switch_on(tool: str, files: Sequence[str] = ()) -> tuple[Fix, ...]:
    """Switch the GPU on by its tool, or remove the files that switch it off, and restart.

    Args:
        tool: a tool's name, or "udev" where the files are nobody's.
        files: what switches the GPU off.
    """
    fixes = []
    firmware = [name for name in files if name.startswith("/sys/")]
    if firmware:
        says = "Nothing is broken: let the firmware give the NVIDIA GPU back, then restart."
        fixes.append(_restart(says, (f"echo 0 | sudo tee {firmware[0]}",), f"echo 1 | sudo tee {firmware[0]}"))
    if tool in _COMMANDS:
        command, undo = _COMMANDS[tool]
        says = f"Nothing is broken: let {tool} give the NVIDIA GPU back (hybrid mode), then restart."
        fixes.append(_restart(says, (command,), undo))
    rest = [name for name in files if not name.endswith("supergfxd.conf") and name not in firmware]
    if rest:
        moves = [f"sudo mv {shlex.quote(name)} {shlex.quote(name)}.off" for name in rest]
        gone = "Where that tool is not installed any more: take" if fixes else "Take"
        says = f"{gone} the files away that switch the GPU off, then restart."
        fixes.append(_restart(says, tuple(moves), "; ".join(_back(name) for name in rest)))
    return tuple(fixes)


def _back(name: str) -> str:
    return f"sudo mv {shlex.quote(name)}.off {shlex.quote(name)}"


def _restart(says: str, commands: tuple[str, ...], undo: str) -> Fix:
    all_ = (*commands, "sudo reboot")
    return Fix(says, all_, "reboot", root=True, needs="reboot", undo=undo, verify="nvidia-smi")
