"""Fixes for what NVIDIA's .run installer left on a system with packages of the driver."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import NVIDIA_SMI, system
from gpudoctor.fixes.module import driver_packages
from gpudoctor.tasks import as_root


def back_to_packages(facts: Facts) -> Fix:
    """Remove the .run installation, and bring back the files of the packages that it has replaced."""
    packages = system.reinstall(facts, *driver_packages(facts))
    message = "Remove the .run installation, then reinstall the distribution's driver packages, and reboot."
    tasks = (as_root("nvidia-uninstall", "--silent"), *packages)
    return Fix(message, tasks, "reinstall-package", root=True, needs="reboot", verify=NVIDIA_SMI)
