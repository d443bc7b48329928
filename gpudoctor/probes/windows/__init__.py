"""Native Windows: graphics adapters and settings, as one PowerShell says them; wmic is gone from Windows 11."""

import re
from typing import Any

import msgspec

from gpudoctor.facts import Adapter, Distribution, Gpu, Host, Kernel, PciDevice, User, Windows
from gpudoctor.knowledge import intel
from gpudoctor.knowledge.pci_ids import amd_chip, nvidia_chip
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.probes import psutil_facts
from gpudoctor.probes.host import directories, environment

POWERSHELL = "C:/Windows/System32/WindowsPowerShell/v1.0/powershell.exe"
# PowerShell starts in a second, and in several on a cold disk with a virus scanner.
SECONDS = 20.0
# Double quotes would be quoted once more on Windows' command line, so there are none.
SCRIPT = """
$ErrorActionPreference='SilentlyContinue'; [Console]::OutputEncoding=[Text.Encoding]::UTF8;
$os=Get-CimInstance Win32_OperatingSystem;
$gpus=Get-CimInstance Win32_VideoController | Select-Object Name,PNPDeviceID,DriverVersion,ConfigManagerErrorCode;
@{adapters=@($gpus);
caption=[string]$os.Caption; memory=[string]$os.TotalVisibleMemorySize;
long_paths=(Get-ItemProperty 'HKLM:\\SYSTEM\\CurrentControlSet\\Control\\FileSystem').LongPathsEnabled;
vc_runtime=[string](Get-ItemProperty 'HKLM:\\SOFTWARE\\Microsoft\\VisualStudio\\14.0\\VC\\Runtimes\\X64').Version
} | ConvertTo-Json -Depth 3 -Compress
""".replace("\n", " ").strip()
# PCI\\VEN_10DE&DEV_2786&SUBSYS_...: how Windows names a PCI device.
_PCI = re.compile(r"PCI\\VEN_([0-9A-F]{4})&DEV_([0-9A-F]{4})", re.I)


class _Adapter(msgspec.Struct):
    Name: str | None = None
    PNPDeviceID: str | None = None
    DriverVersion: str | None = None
    ConfigManagerErrorCode: int | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What PowerShell said, or why it said nothing."""

    adapters: list[_Adapter] | None = None
    caption: str | None = None
    memory: str | None = None
    long_paths: int | None = None
    vc_runtime: str | None = None
    error: str | None = None


def look(machine: Machine) -> Answer:
    """Ask PowerShell once for everything."""
    ended = machine.run([POWERSHELL, "-NoProfile", "-NonInteractive", "-Command", SCRIPT], SECONDS, patient=True)
    if not ended.ok:
        said = ended.missing or ("it timed out" if ended.timed_out else ended.err.strip()[:200])
        return Answer(error=f"powershell: {said or 'it failed'}")
    try:
        return msgspec.json.decode(ended.out.lstrip("\ufeff").strip(), type=Answer)
    except (msgspec.DecodeError, RecursionError) as error:
        return Answer(error=f"powershell: {error}")


def facts(said: Answer) -> Windows:
    """Return what the checks judge."""
    if said.error is not None:
        why = Unknown(said.error)
        return Windows(adapters=why, long_paths=why, vc_runtime=why)
    runtime = re.fullmatch(r"v?(\d+(?:\.\d+){1,2}).*", said.vc_runtime or "")
    return Windows(
        adapters=tuple(_adapter(one) for one in said.adapters or ()),
        long_paths=said.long_paths == 1,
        vc_runtime=runtime[1] if runtime else None,
    )


def _adapter(one: _Adapter) -> Adapter:
    found = _PCI.match(one.PNPDeviceID or "")
    return Adapter(
        name=one.Name or "a graphics adapter without a name",
        vendor=found[1].lower() if found else None,
        device=found[2].lower() if found else None,
        driver=one.DriverVersion,
        problem=one.ConfigManagerErrorCode,
    )


def devices(said: Answer, listed: Maybe[tuple[Gpu, ...]]) -> Maybe[tuple[PciDevice, ...]]:
    """Return the adapters on PCI as the rest of the facts knows them.

    Windows names no address here; that of an NVIDIA GPU is the one of the next GPU of this name that its driver lists.
    """
    if said.error is not None:
        return Unknown(said.error)
    gpus = [] if isinstance(listed, Unknown) else list(listed)
    found = []
    for index, one in enumerate(_adapter(adapter) for adapter in said.adapters or ()):
        if one.vendor and one.device:
            gpu = next((gpu for gpu in gpus if gpu.name == one.name and gpu.address), None)
            address = gpu.address if gpu and isinstance(gpu.address, str) else f"adapter {index}"
            gpus = [other for other in gpus if other is not gpu]
            found.append(_device(address, one))
    return tuple(found)


def _device(address: str, one: Adapter) -> PciDevice:
    vendor, device = str(one.vendor), str(one.device)
    plain: dict[str, Any] = {"chip": None, "generation": None, "capability": None, "gfx": None, "integrated": False}
    if vendor == "10de" and (nvidia := nvidia_chip(device, one.name)):
        plain |= {"chip": nvidia.code, "generation": nvidia.architecture, "capability": nvidia.capability}
    if vendor == "1002" and (amd := amd_chip(device)):
        plain |= {"chip": amd.code, "gfx": amd.gfx, "integrated": amd.integrated}
    if vendor == "8086":
        plain["integrated"] = intel.family(device) is None
    return PciDevice(
        address=address, vendor=vendor, device=device, class_code="030000", name=one.name, driver=one.driver, **plain
    )


def host(machine: Machine, said: Answer, quick: bool = False) -> Host:
    """Return the machine as Windows shows it."""
    memory = said.memory or ""
    return Host(
        system="Windows",
        architecture={"AMD64": "x86_64", "ARM64": "aarch64"}.get(machine.architecture(), machine.architecture()),
        platform="bare",
        distribution=Distribution(id="windows", version=None, codename=None, name=_caption(said), variant=None),
        kernel=Kernel(release=machine.release(), lockdown=None, secure_boot=None),
        product=None,
        virtual=None,
        container=None,
        kubernetes=False,
        wsl=None,
        cgroup=None,
        memory=int(memory) * 1024 if memory.isdigit() else Unknown(said.error or "Windows does not say"),
        memory_available=psutil_facts.available(machine, quick),
        memory_limit=None,
        user=User(name=machine.env.get("USERNAME") or Unknown("USERNAME is not set")),
        selinux=None,
        environment=environment.environment(machine),
        working_directory_shadows=directories.shadows(machine),
        rdma=False,
        l4t=None,
        thunderbolt=(),
    )


def _caption(said: Answer) -> str:
    return (said.caption or "Windows").removeprefix("Microsoft ").strip()
