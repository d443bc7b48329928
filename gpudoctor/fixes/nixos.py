"""NixOS has no command that installs a driver or sets an option: it is set in the configuration.

https://wiki.nixos.org/wiki/NVIDIA; the packages' names are nvidiaPackages of nixpkgs (NixOS/nixpkgs,
pkgs/os-specific/linux/nvidia-x11).
"""

from gpudoctor.check_engine import Action, Fix
from gpudoctor.facts import Facts
from gpudoctor.tasks import Task, as_root, lines, query

_FILE = "/etc/nixos/configuration.nix"


def is_nixos(facts: Facts) -> bool:
    """Whether the distribution is known to be NixOS."""
    return facts.host.distribution.id == "nixos"


def rebuild(message: str, settings: str, action: Action, verify: Task) -> Fix:
    """Set options in the configuration and switch to it.

    Args:
        message: one sentence that starts with a verb.
        settings: the lines of the configuration.
        action: the kind of action.
        verify: what shows that it helped.
    """
    tasks = (lines(f"# {_FILE}\n{settings}"), as_root("nixos-rebuild", "switch"))
    return Fix(message, tasks, action, root=True, undo=_back("switch"), verify=verify)


def upgrade(message: str, verify: Task) -> Fix:
    """Rebuild the system from newer packages.

    Args:
        message: what it brings.
        verify: what shows that it helped.
    """
    message += " A system of flakes: `nix flake update` first; an old release of NixOS: change its channel first."
    tasks = (as_root("nixos-rebuild", "switch", "--upgrade"),)
    return Fix(message, tasks, "reinstall-package", root=True, undo=_back("switch"), verify=verify)


def _back(mode: str) -> tuple[Task, ...]:
    return (as_root("nixos-rebuild", mode, "--rollback"),)


def install_driver(message: str, branch: int, flavor: str, legacy: bool) -> Fix:
    """Set the driver in the configuration and rebuild the system.

    Args:
        message: what to install.
        branch: the driver branch.
        flavor: open or proprietary kernel modules.
        legacy: whether the branch is the last one of a GPU here.
    """
    package = f"legacy_{branch}" if legacy else "production"
    settings = (
        'services.xserver.videoDrivers = [ "nvidia" ];\n'
        "hardware.graphics.enable = true;\n"
        f"hardware.nvidia.open = {'true' if flavor == 'open' else 'false'};\n"
        f"hardware.nvidia.package = config.boot.kernelPackages.nvidiaPackages.{package};"
    )
    return from_next_boot(f"{message} On NixOS it is set in the configuration.", settings, "reinstall-package")


def from_next_boot(message: str, settings: str, action: Action) -> Fix:
    """Set options in the configuration that hold from the next boot on: those of the driver and its modules.

    Args:
        message: what they do.
        settings: the lines of the configuration.
        action: the kind of action.
    """
    commands = (lines(f"# {_FILE}\n{settings}"), as_root("nixos-rebuild", "boot"), as_root("reboot"))
    undo = _back("boot")
    return Fix(message, commands, action, root=True, needs="reboot", undo=undo, verify=query("nvidia-smi"))
