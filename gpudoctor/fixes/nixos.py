"""NixOS has no command that installs a driver or sets an option: it is set in the configuration.

https://wiki.nixos.org/wiki/NVIDIA; the packages' names are nvidiaPackages of nixpkgs (NixOS/nixpkgs,
pkgs/os-specific/linux/nvidia-x11).
"""

from gpudoctor.check_engine import Action, Fix
from gpudoctor.facts import Facts
from gpudoctor.tasks import Task, Tasks, as_root, lines, query

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
    return Fix(message, tasks, action, root=True, undo=back("switch"), verify=verify)


def upgrade(message: str, verify: Task) -> Fix:
    """Rebuild the system from newer packages.

    Args:
        message: what it brings.
        verify: what shows that it helped.
    """
    message += " A system of flakes: `nix flake update` first; an old release of NixOS: change its channel first."
    tasks = (as_root("nixos-rebuild", "switch", "--upgrade"),)
    return Fix(message, tasks, "reinstall-package", root=True, undo=back("switch"), verify=verify)


def for_boot(settings: str) -> Tasks:
    """Set options in the configuration, for the system that the next boot starts.

    Args:
        settings: the lines of the configuration.
    """
    return (lines(f"# {_FILE}\n{settings}"), as_root("nixos-rebuild", "boot"))


def back(mode: str) -> tuple[Task, ...]:
    """Return to the system that was built before, now ("switch") or with the next boot ("boot")."""
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
    return Fix(
        f"{message} On NixOS it is set in the configuration.",
        (*for_boot(settings), as_root("reboot")),
        "reinstall-package",
        root=True,
        needs="reboot",
        undo=back("boot"),
        verify=query("nvidia-smi"),
    )
