"""Fixes of and for a driver that came with NVIDIA's .run installer."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import NVIDIA_SMI, system
from gpudoctor.tasks import Tasks, as_root
from gpudoctor.tasks.placeholders import VERSION


def uses_runfile(facts: Facts) -> bool:
    """Whether the driver came from NVIDIA's .run installer."""
    return facts.nvidia.kernel.installer == "runfile"


def run_installer(facts: Facts, version: str | None) -> Tasks:
    """The command that runs NVIDIA's installer again so that DKMS rebuilds the module for later kernels."""
    machine = facts.host.architecture if isinstance(facts.host.architecture, str) else "x86_64"
    blanks = () if version else (VERSION,)
    return (as_root("sh", f"NVIDIA-Linux-{machine}-{version or VERSION.name}.run", "--dkms", placeholders=blanks),)


def installer_for(facts: Facts, version: str) -> Fix:
    """Run the installer of the libraries' version again, so that the module is of it, too."""
    message = f"Install the kernel module of {version} too: run the installer of that version again, then reboot."
    return Fix(
        message, run_installer(facts, version), "reinstall-package", root=True, needs="reboot", verify=NVIDIA_SMI
    )


def back_to_packages(facts: Facts) -> Fix:
    """Remove the .run installation, and bring back the files of the packages that it has replaced."""
    packages = system.reinstall(facts, *system.driver_packages(facts))
    message = "Remove the .run installation, then reinstall the distribution's driver packages, and reboot."
    tasks = (as_root("nvidia-uninstall", "--silent"), *packages)
    return Fix(message, tasks, "reinstall-package", root=True, needs="reboot", verify=NVIDIA_SMI)
