"""NixOS has no command that installs a driver: it is set in the configuration.

https://wiki.nixos.org/wiki/NVIDIA; the packages' names are nvidiaPackages of nixpkgs (NixOS/nixpkgs,
pkgs/os-specific/linux/nvidia-x11).
"""

from gpudoctor.check_engine import Fix
from gpudoctor.tasks import as_root, lines, query

_FILE = "/etc/nixos/configuration.nix"


def install_driver(message: str, branch: int, flavor: str, legacy: bool) -> Fix:
    """Set the driver in the configuration and rebuild the system.

    Args:
        message: what to install.
        branch: the driver branch.
        flavor: open or proprietary kernel modules.
        legacy: whether the branch is the last one of a GPU here.
    """
    package = f"legacy_{branch}" if legacy else "production"
    block = (
        f"# {_FILE}\n"
        'services.xserver.videoDrivers = [ "nvidia" ];\n'
        "hardware.graphics.enable = true;\n"
        f"hardware.nvidia.open = {'true' if flavor == 'open' else 'false'};\n"
        f"hardware.nvidia.package = config.boot.kernelPackages.nvidiaPackages.{package};"
    )
    commands = (lines(block), as_root("nixos-rebuild", "boot"), as_root("reboot"))
    undo = (as_root("nixos-rebuild", "boot", "--rollback"),)
    return Fix(
        f"{message} On NixOS it is set in the configuration.",
        commands,
        "reinstall-package",
        root=True,
        needs="reboot",
        undo=undo,
        verify=query("nvidia-smi"),
    )
