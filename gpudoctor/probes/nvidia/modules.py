"""Finds nvidia.ko under /lib/modules, for the running kernel and for others, and what modinfo says of it."""

import os
import re
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from gpudoctor.facts import DiskModule
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers.nvidia_version import modinfo

# The last one is where NixOS keeps them.
_BASES = ("/lib/modules", "/usr/lib/modules", "/run/booted-system/kernel-modules/lib/modules")

# nvidia.ko is called nvidia-current.ko, nvidia-tesla-470.ko or nvidia-legacy-390xx.ko by Debian's packages.
_NAME = r"nvidia(?:-current|-open|-(?:legacy|tesla)(?:-\d+(?:xx)?)?)?(?:-open)?\.ko(?:\.(?:xz|zst|gz))?"
_IS_MODULE = pattern(_NAME)
_IN_DEP = pattern(rf"^((?:[^\s:]*/)?{_NAME}):", re.MULTILINE)

# Where DKMS, akmods, kmod packages, the .run installer and distributions put it, in depmod's order of preference.
_FOLDERS = (
    "updates/dkms",
    "updates",
    "updates/opensrc-disp",
    "extra",
    "weak-updates",
    "weak-updates/updates",
    "extramodules",
    "extras",
    "misc",
    "video",
    "nvidia",
    "kernel/drivers/video",
    "kernel/drivers/extra",
    "kernel/drivers/extra/video",
)
# Folders with a folder of the driver's name in them: kernel/nvidia-550 (Ubuntu), extra/nvidia (RPM Fusion).
_PARENTS = ("extra", "kernel", "kernel/drivers/video", "updates", "weak-updates")

# No machine keeps more kernels than it wants to boot; the newest names are looked into.
_MOST_KERNELS = 16
# An uncompressed nvidia.ko with its firmware interface has up to 120 MB.
_LARGEST_MODULE = 256 << 20
_BLOCK, _BEFORE, _AFTER = 1 << 20, 1 << 14, 1 << 12


def folders_of(machine: Machine, release: str) -> list[str]:
    """Return the folders of a kernel release's modules; empty where there is none."""
    found: dict[str, str] = {}
    for path in (f"{base}/{release}" for base in _BASES):
        if machine.exists(path):
            found.setdefault(machine.real(path), path)
    return list(found.values())


def modules_of(machine: Machine, release: str) -> list[str]:
    """Return the paths of nvidia.ko for a kernel release, the one that modprobe would prefer first.

    modules.dep lists what depmod saw; the usual folders are looked into as well, since it may be older than they.
    """
    found: dict[str, str] = {}
    for folder in folders_of(machine, release):
        for path in (*_listed(machine, folder), *_lying(machine, folder)):
            found.setdefault(machine.real(path), path)
    return list(found.values())


def other_kernels(machine: Machine, release: str) -> tuple[DiskModule, ...]:
    """Return nvidia.ko of the kernels that are installed but not running; their versions are not asked for."""
    releases = {name for base in _BASES for name in machine.names(base)} - {release}
    why = Unknown("modinfo is run for the running kernel only")
    return tuple(
        DiskModule(kernel=other, path=path, version=why, flavor=why, signer=why, vermagic=why)
        for other in sorted(releases)[-_MOST_KERNELS:]
        for path in modules_of(machine, other)[:1]
    )


def on_disk(machine: Machine, release: str) -> tuple[DiskModule, ...]:
    """Return nvidia.ko for the running kernel as modinfo describes it.

    Where none of the known folders holds it, modprobe's own search is asked: it knows folders that we do not.
    """
    paths = modules_of(machine, release)
    if paths:
        return tuple(_aged(machine, describe(machine, release, path)) for path in paths[:3])
    asked = machine.run(["modinfo", "nvidia"])
    path = modinfo(asked.out).get("filename", "") if asked.ok else ""
    return (_of_fields(release, path, modinfo(asked.out)),) if path.startswith("/") else ()


def describe(machine: Machine, release: str, path: str) -> DiskModule:
    """Return what modinfo says of a module file, or what stands in the file where there is no modinfo."""
    asked = machine.run(["modinfo", path])
    if asked.missing:
        read = _strings(machine, path)
        return _of_fields(release, path, read, None if read else asked.missing)
    fields = modinfo(asked.out)
    if "version" not in fields:
        fields |= dict(_single_fields(machine, path))
    why = None if asked.ok else (asked.err.strip() or f"modinfo {path} failed")
    return _of_fields(release, path, fields, why)


def _aged(machine: Machine, found: DiskModule) -> DiskModule:
    age = machine.age(found.path)
    why = Unknown(f"{found.path}: its time cannot be read")
    return msgspec.structs.replace(found, age=why if age is None else age)


def _single_fields(machine: Machine, path: str) -> Iterator[tuple[str, str]]:
    """Ask for fields one by one: some modinfo (BusyBox, wrappers) print nothing useful otherwise."""
    for field in ("version", "license", "vermagic"):
        asked = machine.run(["modinfo", "-F", field, path])
        value = asked.out.strip()
        if asked.ok and value and "\n" not in value:
            yield field, value


def _of_fields(release: str, path: str, fields: dict[str, str], why: str | None = None) -> DiskModule:
    missing = Unknown(f"modinfo: {why}") if why else None
    vermagic = fields.get("vermagic", "").split()
    return DiskModule(
        kernel=release,
        path=path,
        version=fields.get("version") or missing,
        flavor=_flavor(fields.get("license")) or missing,
        signer=_signer(fields, missing),
        serial=fields.get("sig_key"),
        vermagic=vermagic[0] if vermagic else Unknown(f"modinfo {path} names no vermagic"),
    )


def _flavor(modinfo: str | None) -> str | None:
    if not modinfo:
        return None
    return "open" if "GPL" in modinfo or "MIT" in modinfo else "proprietary"


def _signer(fields: dict[str, str], missing: Unknown | None) -> Maybe[str | None]:
    if fields.get("signer"):
        return fields["signer"]
    if "sig_id" in fields or "signature" in fields:
        return Unknown("the module is signed, but modinfo does not name the signer")
    return missing


def _listed(machine: Machine, folder: str) -> list[str]:
    try:
        text = machine.text(f"{folder}/modules.dep")
    except OSError:
        return []
    if "nvidia" not in text:
        return []
    paths = (p if p.startswith("/") else f"{folder}/{p}" for p in _IN_DEP.findall(text))
    return [path for path in paths if machine.exists(path)]


def _lying(machine: Machine, folder: str) -> Iterator[str]:
    inner = [f"{parent}/{name}" for parent in _PARENTS for name in machine.names(f"{folder}/{parent}") if _named(name)]
    for place in (*_FOLDERS, *inner):
        for name in machine.names(f"{folder}/{place}"):
            if _IS_MODULE.fullmatch(name):
                yield f"{folder}/{place}/{name}"


def _named(folder: str) -> bool:
    return folder.startswith("nvidia") and ".ko" not in folder


def _strings(machine: Machine, path: str) -> dict[str, str]:
    """Return the fields of an uncompressed module's .modinfo section, found by its vermagic."""
    if not path.endswith(".ko"):
        return {}
    try:
        with machine.open(path) as file:
            near, end = _around_vermagic(file)
    except OSError:
        return {}
    pairs = re.findall(rb"(?:^|\0)(version|license|vermagic)=([\x20-\x7e]+)", near)
    fields: dict[str, str] = {}
    for name, value in pairs:
        fields.setdefault(name.decode(), value.decode())
    if fields and end.endswith(b"~Module signature appended~\n"):  # include/linux/module_signature.h
        fields["signature"] = "appended"
    return fields


def _around_vermagic(file: BinaryIO) -> tuple[bytes, bytes]:
    """What stands near "vermagic=", and the end of the file; a block at a time, because modules have 100 MB."""
    held, searched = b"", 0
    near = b""
    while not near and searched < _LARGEST_MODULE and (block := file.read(_BLOCK)):
        searched += len(block)
        held = held[-_BEFORE:] + block
        at = held.find(b"vermagic=")
        if at >= 0:
            held += file.read(_AFTER)
            near = held[max(0, at - _BEFORE) : at + _AFTER]
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 64))
    return near, file.read(64)
