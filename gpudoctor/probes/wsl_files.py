"""The files of the Windows host's driver that WSL, or a guest with GPU paravirtualisation, is given."""

from gpudoctor.facts import Host
from gpudoctor.machine import Machine
from gpudoctor.maybe import known_or

DRIVERS = "/usr/lib/wsl/drivers"
# NVIDIA's folders in the Windows driver store: nv_dispi.inf_amd64_..., nvmdi.inf_..., nvlti.inf_... of notebooks.
PREFIX = "nv"
DXGDMAL = "libnvdxgdmal.so.1"
_FOLDERS = ("/usr/lib/wsl/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib")


def drivers(machine: Machine, host: Host) -> tuple[str, ...] | None:
    """Return the folders of NVIDIA's driver under /usr/lib/wsl/drivers; None where that folder is not there."""
    if known_or(host.wsl, None) is None or not machine.exists(DRIVERS):
        return None
    return tuple(name for name in machine.names(DRIVERS) if name.startswith(PREFIX) and ".inf_" in name)


def dxgdmal(machine: Machine, host: Host) -> bool | None:
    """Return whether libnvdxgdmal.so.1 is there; the container toolkit mounts it into the folders of the image."""
    if known_or(host.wsl, None) is None:
        return None
    beside = any(machine.exists(f"{folder}/{DXGDMAL}") for folder in _FOLDERS)
    return beside or any(machine.exists(f"{DRIVERS}/{name}/{DXGDMAL}") for name in drivers(machine, host) or ())
