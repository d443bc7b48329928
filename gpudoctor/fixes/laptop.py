"""Fixes of laptops: enable an NVIDIA GPU that a tool switched off, and Dynamic Boost, which raises its power limit."""

from collections.abc import Sequence

from gpudoctor.check_engine import Action, Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import nixos, system
from gpudoctor.fixes.system import family_of, install
from gpudoctor.maybe import known_or
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


def switch_on(facts: Facts, tool: str, files: Sequence[str] = (), lost: bool = False) -> tuple[Fix, ...]:
    """Switch the GPU on with its tool, or remove the files that switch it off, and reboot.

    Args:
        facts: the machine.
        tool: a tool's name, or "udev" where the files belong to no tool.
        files: what switches the GPU off.
        lost: whether the tool is not installed any more.
    """
    fixes = []
    firmware = [name for name in files if name.startswith("/sys/")]
    if firmware:
        message = "Nothing is broken: enable the NVIDIA GPU in the firmware, then reboot."
        fixes.append(
            _restart(message, (Edit(firmware[0], text="0\n", root=True),), (Edit(firmware[0], text="1\n", root=True),))
        )
    if tool in _COMMANDS and not lost:
        command, undo = _COMMANDS[tool]
        message = f"Nothing is broken: enable the NVIDIA GPU with {tool} (hybrid mode), then reboot."
        fixes.append(_restart(message, (command,), (undo,)))
    rest = [name for name in files if not name.endswith("supergfxd.conf") and name not in firmware]
    if rest:
        moves = [as_root("mv", name, f"{name}.off") for name in rest]
        gone = "If that tool is no longer installed: rename" if fixes else "Rename"
        left = f" {tool}, which left them, is not installed." if lost else ""
        # The initial RAM disk has copies of rules of udev and of modprobe.d, and its udev would go on by them.
        again = system.initramfs(facts)
        rebuilt = " rebuild the initial RAM disk (initramfs), which has copies of them," if again else ""
        message = f"{gone} the files that switch the GPU off,{rebuilt} then reboot.{left}"
        fixes.append(_restart(message, (*moves, *again), (*(_back(name) for name in rest), *again)))
    return tuple(fixes)


def _back(name: str) -> Command:
    return as_root("mv", f"{name}.off", name)


def _restart(message: str, commands: Tasks, undo: Tasks) -> Fix:
    all_ = (*commands, as_root("reboot"))
    return Fix(message, all_, "reboot", root=True, needs="reboot", undo=undo, verify=query("nvidia-smi"))


_UNIT, _POLICY = "/etc/systemd/system/nvidia-powerd.service", "/etc/dbus-1/system.d/nvidia-dbus.conf"
_LIMITS = query("nvidia-smi", "--query-gpu=index,clocks.sm,power.draw,enforced.power.limit", "--format=csv")
# The policy of johnfanv2/LenovoLegionLinux#481; without one the bus refuses the daemon its name.
_POLICY_TEXT = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <policy user="root"><allow own="nvidia.powerd.server"/></policy>
  <policy context="default"><allow send_destination="nvidia.powerd.server"/></policy>
</busconfig>
"""
# Debian's package nvidia-powerd has both as examples (packages.debian.org, list of files).
_DEBIAN = "/usr/share/doc/nvidia-powerd/examples"


def start_powerd(facts: Facts) -> tuple[Fix, ...]:
    """Start nvidia-powerd, with its unit and its D-Bus policy put where systemd and the bus look for them.

    johnfanv2/LenovoLegionLinux#481; where the policy belongs: Frogging-Family/nvidia-all#99, after the driver's README.
    """
    state, shipped = known_or(facts.nvidia.kernel.power_daemon, None), facts.nvidia.kernel.power_daemon_files
    begin: Tasks = ()
    message = "Start nvidia-powerd now and at boot."
    if state is None:
        message = "Install nvidia-powerd of this driver's release, and start it now and at boot."
        if nixos.is_nixos(facts):  # NixOS/nixpkgs#364986: the option starts nvidia-powerd
            setting = "hardware.nvidia.dynamicBoost.enable = true;"
            enable = "Enable Dynamic Boost in the configuration, and rebuild the system."
            return (nixos.rebuild(enable, setting, "change-environment", _LIMITS),)
        if known_or(facts.host.distribution.id, "") != "debian" or family_of(facts) != "debian":
            return (Fix(message, (), "reinstall-package", root=True, impact="persistent", verify=_LIMITS),)
        begin, shipped = install(facts, "nvidia-powerd"), tuple(f"{_DEBIAN}/{name}" for name in _EXAMPLES)
    if state != "inactive":
        message = f"{message[:-1]}: the package ships its unit and its D-Bus policy as documentation only; copy them."
        unit, policy = (next((path for path in shipped if path.endswith(name)), None) for name in _EXAMPLES)
        if unit is None:
            message = f"Install the unit of nvidia-powerd, which the driver's .run file has, as {_UNIT}, and start it."
            return (Fix(message, (), "reinstall-package", root=True, impact="persistent", verify=_LIMITS),)
        allow = as_root("cp", policy, _POLICY) if policy else Edit(_POLICY, text=_POLICY_TEXT, root=True)
        begin = (*begin, as_root("cp", unit, _UNIT), allow, *_RELOAD)
    start = as_root("systemctl", "enable", "--now", "nvidia-powerd.service")
    action: Action = "change-environment" if state else "reinstall-package"
    return (Fix(message, (*begin, start), action, root=True, impact="persistent", verify=_LIMITS),)


_EXAMPLES = ("nvidia-powerd.service", "nvidia-dbus.conf")
_RELOAD = (as_root("systemctl", "daemon-reload"), as_root("systemctl", "reload", "dbus"))


def stop_powerd() -> tuple[Fix, ...]:
    """Leave the power limit to the firmware (ublue-os/bazzite#4384)."""
    message = "Disable nvidia-powerd: the firmware then sets the GPU's base power by itself."
    command = as_root("systemctl", "disable", "--now", "nvidia-powerd.service")
    undo = as_root("systemctl", "enable", "--now", "nvidia-powerd.service")
    return (
        Fix(message, (command,), "change-environment", root=True, impact="persistent", undo=(undo,), verify=_LIMITS),
    )
