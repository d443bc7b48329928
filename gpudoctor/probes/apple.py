"""A Mac: what macOS tells of processor, system and GPU, by sysctl and the file that names its version."""

import re
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from gpudoctor.facts import AppleFacts, Distribution, Gpu, Host, Kernel
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.probes import psutil_facts
from gpudoctor.probes.host import directories, environment

# The property list of every macOS; a Python that was built for an old one is told 10.16 by platform.mac_ver().
VERSION = "/System/Library/CoreServices/SystemVersion.plist"
_NAMES = ("hw.optional.arm64", "machdep.cpu.brand_string", "hw.memsize", "hw.model", "hw.ncpu")


class Mac(msgspec.Struct, frozen=True):
    """What sysctl and the system's version say; a name that sysctl does not know is not in `values`."""

    values: Mapping[str, str] = MappingProxyType({})
    macos: Maybe[str] = Unknown("macOS did not report its version")
    error: str | None = "sysctl was not asked"


def look(machine: Machine) -> Mac:
    """Ask sysctl for all names at once: those that this Mac does not have are complained about on standard error."""
    ended = machine.run(["/usr/sbin/sysctl", *_NAMES])
    pairs = (line.partition(": ") for line in ended.out.splitlines())
    values = {name: value.strip() for name, colon, value in pairs if colon}
    said = ended.missing or next(iter(ended.err.splitlines()), "no response")
    error = None if values else f"sysctl: {said.removeprefix('sysctl: ')}"
    return Mac(values, _version(machine), error)


def _version(machine: Machine) -> Maybe[str]:
    try:
        text = machine.text(VERSION, 1 << 16)
    except OSError as error:
        return Unknown(f"{VERSION}: {error.strerror}")
    found = re.search(r"<key>ProductVersion</key>\s*<string>([\d.]+)</string>", text)
    return found[1] if found else Unknown(f"{VERSION} names no version")


def facts(mac: Mac) -> AppleFacts:
    """Return what the checks judge. Intel's Macs do not know hw.optional.arm64."""
    if mac.error:
        return AppleFacts(silicon=Unknown(mac.error), chip=Unknown(mac.error), macos=mac.macos)
    return AppleFacts(
        silicon=mac.values.get("hw.optional.arm64") == "1",
        chip=mac.values.get("machdep.cpu.brand_string") or Unknown("sysctl names no CPU"),
        macos=mac.macos,
    )


def gpus(mac: Mac) -> Maybe[tuple[Gpu, ...]]:
    """Return the GPU of Apple's own chips, which is part of every one; what an Intel Mac has is not looked for."""
    if mac.error:
        return Unknown(mac.error)
    if mac.values.get("hw.optional.arm64") != "1":
        return ()
    chip = mac.values.get("machdep.cpu.brand_string") or "Apple silicon"
    gpu = Gpu(
        vendor="apple", index=0, address=None, name=chip, uuid=None, capability=None, gfx=None, integrated=True,
        status="ok", memory=None,
    )  # fmt: skip
    return (gpu,)


def host(machine: Machine, mac: Mac, quick: bool = False) -> Host:
    """Return the machine as macOS shows it: no container, no WSL, no cgroup exists there."""
    name = f"macOS {mac.macos}" if isinstance(mac.macos, str) else "macOS"
    memory, cores = mac.values.get("hw.memsize", ""), mac.values.get("hw.ncpu", "")
    why = Unknown(mac.error or "sysctl does not report it")
    return Host(
        system="Darwin",
        architecture="arm64" if mac.values.get("hw.optional.arm64") == "1" else machine.architecture(),
        platform="laptop" if "Book" in mac.values.get("hw.model", "") else "bare",
        distribution=Distribution(id="macos", version=mac.macos, codename=None, name=name, variant=None),
        kernel=Kernel(release=machine.release(), lockdown=None, secure_boot=None),
        product=mac.values.get("hw.model"),
        virtual=None,
        container=None,
        kubernetes=False,
        wsl=None,
        cgroup=None,
        memory=int(memory) if memory.isdigit() else why,
        memory_available=psutil_facts.available(machine, quick),
        memory_limit=None,
        cpus=float(cores) if cores.isdigit() else why,
        selinux=None,
        environment=environment.environment(machine),
        working_directory_shadows=directories.shadows(machine),
        rdma=False,
        l4t=None,
        thunderbolt=(),
    )
