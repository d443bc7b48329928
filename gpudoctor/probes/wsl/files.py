"""The files of the Windows host's driver that WSL, or a guest with GPU paravirtualisation, is given."""

from gpudoctor.facts import Host
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import known_or

DRIVERS = "/usr/lib/wsl/drivers"
LIBRARIES, _OF_WINDOWS = "/usr/lib/wsl/lib", "libdxcore.so"
# NVIDIA's folders in the Windows driver store: nv_dispi.inf_amd64_..., nvmdi.inf_..., nvlti.inf_... of notebooks.
PREFIX = "nv"
# AMD's and Intel's: u0420529.inf_amd64_..., iigd_dch.inf_amd64_... (NVIDIA/nvidia-container-toolkit#1890,
# yuk7/ArchWSL#308).
_OTHERS = {"amd": pattern(r"u0\d+\.inf_"), "intel": pattern(r"iigd_dch\w*\.inf_")}
DXGDMAL = "libnvdxgdmal.so.1"
_FOLDERS = (LIBRARIES, "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib")


def drivers(machine: Machine, host: Host) -> tuple[str, ...] | None:
    """Return the folders of NVIDIA's driver under /usr/lib/wsl/drivers; None where Windows shows no files here.

    NVIDIA's driver also puts its libraries into Windows' lxss/lib, which WSL shows as /usr/lib/wsl/lib.
    """
    if not _concerned(machine, host):
        return None
    if not machine.exists(DRIVERS):
        libraries = machine.names(LIBRARIES)
        return () if _OF_WINDOWS in libraries and not any(one.startswith("libcuda.so") for one in libraries) else None
    return tuple(name for name in machine.names(DRIVERS) if name.startswith(PREFIX) and ".inf_" in name)


def vendors(machine: Machine) -> tuple[str, ...]:
    """Return the other vendors whose display drivers are in the driver store that Windows shows here."""
    names = machine.names(DRIVERS)
    return tuple(vendor for vendor, folder in _OTHERS.items() if any(folder.match(name) for name in names))


def dxgdmal(machine: Machine, host: Host) -> bool | None:
    """Return whether libnvdxgdmal.so.1 is there; the container toolkit mounts it into the folders of the image."""
    if not _concerned(machine, host):
        return None
    beside = any(machine.exists(f"{folder}/{DXGDMAL}") for folder in _FOLDERS)
    return beside or any(machine.exists(f"{DRIVERS}/{name}/{DXGDMAL}") for name in drivers(machine, host) or ())


def _concerned(machine: Machine, host: Host) -> bool:
    """WSL 1 and 2, and guests of Hyper-V that reach the host's GPU by /dev/dxg."""
    return known_or(host.wsl, None) is not None or machine.exists("/dev/dxg")
