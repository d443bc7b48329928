"""Fixes of and for a driver that came with NVIDIA's .run installer."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import NVIDIA_SMI, system
from gpudoctor.maybe import known_or
from gpudoctor.tasks import Shell, Tasks, as_root
from gpudoctor.tasks.placeholders import VERSION

_SERVER = "https://us.download.nvidia.com"


def uses_runfile(facts: Facts) -> bool:
    """Whether the driver came from NVIDIA's .run installer."""
    return facts.nvidia.kernel.installer == "runfile"


def download(facts: Facts, version: str) -> Tasks:
    """Load NVIDIA's installer of a version where this folder has none: that for desktops, else that for data centers.

    Debian brings no curl by itself.

    The addresses are those of https://www.nvidia.com/en-us/drivers/unix/linux-amd64-display-archive/ and of
    https://github.com/NVIDIA/gpu-driver-container.
    """
    name, machine = file_name(facts, version), _machine(facts)
    desktop = f"XFree86/{'Linux-x86_64' if machine == 'x86_64' else machine}"
    wanted = (f"curl -fLO {_SERVER}/{folder}/{version}/{name}" for folder in (desktop, "tesla"))
    curl = system.install(facts, "curl", "ca-certificates") if system.family_of(facts) == "debian" else ()
    return (*curl, Shell(" || ".join((f"ls {name}", *wanted))))


def run_installer(facts: Facts, version: str | None) -> Tasks:
    """The commands that run NVIDIA's installer of a version so that DKMS rebuilds the module for later kernels."""
    if version is None:
        return (as_root("sh", file_name(facts, VERSION.name), "--dkms", placeholders=(VERSION,)),)
    return (*download(facts, version), as_root("sh", file_name(facts, version), "--dkms"))


def _machine(facts: Facts) -> str:
    return known_or(facts.host.architecture, None) or "x86_64"


def file_name(facts: Facts, version: str) -> str:
    """What NVIDIA calls the installer of a version."""
    return f"NVIDIA-Linux-{_machine(facts)}-{version}.run"


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
