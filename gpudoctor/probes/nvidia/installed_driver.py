"""What of NVIDIA's driver is installed on a machine that has its GPUs, and what keeps it from working."""

import msgspec

from gpudoctor.facts import DiskModule, Host, NvidiaKernel, PciDevice
from gpudoctor.facts.host import ConfigLine
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, known_or
from gpudoctor.parsers.nvidia_version import driver_of_file
from gpudoctor.probes.nvidia import akmods, laptop_switch, modprobe_conf, modules, services
from gpudoctor.probes.nvidia import dkms as nvidia_dkms
from gpudoctor.probes.nvidia import packages as driver_packages
from gpudoctor.probes.nvidia.nvml import SMI_FOLDERS
from gpudoctor.probes.nvidia.services import HOSTS
from gpudoctor.probes.wsl import files as wsl_files

_LIBRARIES = ("libcuda.so.1", "libnvidia-ml.so.1")
_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/run/opengl-driver/lib",
)
_CONSISTENT = Unknown("not asked: the module and the libraries are there, in one version, and nvidia-smi")


Disk = Maybe[tuple[DiskModule, ...]]


def added(machine: Machine, host: Host, cards: tuple[PciDevice, ...], now: NvidiaKernel) -> NvidiaKernel:
    """What the kernel says, with what is on disk and in the system's records."""
    release = known_or(host.kernel.release, "") or machine.release()
    inside, wsl = known_or(host.container, None) is not None, known_or(host.wsl, None) is not None
    disk, others = _disk(machine, release, inside, wsl)
    consistent = not wsl and _is_consistent(machine, now.loaded, disk, cards)
    dkms = None if wsl else HOSTS if inside else nvidia_dkms.probe(machine, ask=not consistent)
    complete = consistent and machine.which("nvidia-smi", SMI_FOLDERS) is not None
    packages = HOSTS if inside else _CONSISTENT if complete else driver_packages.probe(machine, host)
    conf = modprobe_conf.probe(machine, known_or(host.kernel.command_line, ""))
    log, failed = (None, ()) if inside or wsl or disk else akmods.errors(machine, release)
    switch, files = _switch(machine, inside or wsl or isinstance(now.loaded, str))
    found = msgspec.structs.replace(
        now,
        on_disk=disk,
        other_kernels=others,
        headers_offered=_headers_offered(machine, host, now, disk, release),
        dkms=dkms,
        dkms_unlisted=() if inside or wsl or consistent else nvidia_dkms.unlisted(machine, dkms),
        dkms_errors=failed or nvidia_dkms.errors(machine, dkms, release),
        akmods_log=log,
        image_keys=None if inside or wsl else akmods.image_keys(machine),
        installer=_installer(machine, inside, disk, packages),
        blacklists=conf.blacklists,
        blacklist_lines=conf.lines.get("nvidia", ()),
        vfio_lines=conf.reserving,
        nouveau_lines=() if inside or wsl else _nouveau_lines(machine, now),
        glx=None if inside or wsl else machine.link("/etc/alternatives/glx"),
        options=conf.options,
        packages=packages,
        switch=switch,
        switch_files=files,
        switch_lost=isinstance(switch, str) and laptop_switch.is_lost(machine, switch),
        wsl_drivers=wsl_files.drivers(machine, host),
        dxgdmal=wsl_files.dxgdmal(machine, host),
        **msgspec.structs.asdict(services.probe(machine, host, cards)),
    )
    return found if inside or wsl else _with_key(machine, host, found)


def _headers_offered(machine: Machine, host: Host, now: NvidiaKernel, disk: Disk, release: str) -> Maybe[bool | None]:
    """Apt is asked only where the module cannot be built without them."""
    if now.loaded is not None or disk or host.kernel.headers is not False:
        return None
    from gpudoctor.probes.nvidia import kernel_headers

    return kernel_headers.offered(machine, host, release)


def _nouveau_lines(machine: Machine, now: NvidiaKernel) -> tuple[ConfigLine, ...]:
    there = isinstance(now.modules, tuple) and "nouveau" in now.modules
    return modprobe_conf.loaded_by_name(machine, "nouveau") if there else ()


def _with_key(machine: Machine, host: Host, now: NvidiaKernel) -> NvidiaKernel:
    """The module for it is loaded only where it is asked: the driver is not loaded, and Secure Boot is on."""
    if now.loaded is not None or host.kernel.secure_boot is not True:
        return msgspec.structs.replace(now, signer_enrolled=None)
    from gpudoctor.probes.nvidia import signing_key

    enrolled = signing_key.enrolled(machine, host, now)
    pending = enrolled is False and signing_key.is_pending(machine, now)
    return msgspec.structs.replace(now, signer_enrolled=enrolled, key_pending=pending)


def _switch(machine: Machine, needless: bool) -> tuple[Maybe[str | None], tuple[str, ...]]:
    """Who switched the GPU off; nobody did where the driver runs."""
    return (
        (Unknown("not looked for: the driver is running, or the kernel is the host's"), ())
        if needless
        else (laptop_switch.probe(machine))
    )


def _disk(machine: Machine, release: str, inside: bool, wsl: bool) -> tuple[Disk, Disk]:
    """A container sees the host's modules only where somebody mounted them (driver containers)."""
    if wsl:
        return (), ()
    if inside and not modules.folders_of(machine, release):
        return HOSTS, HOSTS
    return modules.on_disk(machine, release), modules.other_kernels(machine, release)


def _is_consistent(machine: Machine, loaded: Maybe[str | None], disk: Disk, cards: tuple[PciDevice, ...]) -> bool:
    """Whether module, module file and libraries are all there in one version, and the module has taken the cards."""
    if isinstance(loaded, Unknown) or isinstance(disk, Unknown) or loaded is None:
        return False
    libraries = _library_versions(machine)
    ours = all(known_or(c.driver, "nvidia") in ("nvidia", "nvidia-nvswitch") for c in cards)
    return ours and {d.version for d in disk} == {loaded} and libraries == {loaded}


def _library_versions(machine: Machine) -> set[str]:
    paths = (f"{folder}/{name}" for folder in _FOLDERS for name in _LIBRARIES)
    versions = {driver_of_file(machine.real(path)) for path in paths}
    return {version for version in versions if version}


def _installer(
    machine: Machine, inside: bool, disk: Disk, packages: Maybe[tuple[tuple[str, str, str], ...]]
) -> Maybe[str | None]:
    log = machine.exists("/var/log/nvidia-installer.log")
    if machine.which("nvidia-uninstall", ("/usr/bin",)) or (log and inside):
        return "runfile"
    if inside:
        return HOSTS
    if known_or(packages, ()):
        return "package"
    if log:
        return "runfile"
    return "package" if known_or(disk, ()) or _library_versions(machine) else None
