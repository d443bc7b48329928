"""What DKMS knows of NVIDIA's driver, and why its last build for the running kernel failed."""

import re

import msgspec

from gpudoctor.facts import Dkms
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers import build_log
from gpudoctor.parsers.dkms import dkms_status

_TREE, _SOURCES = "/var/lib/dkms", "/usr/src"
_SBIN = ("/usr/sbin", "/sbin", "/usr/bin")
# These modules of NVIDIA's are not its driver.
_OTHERS = pattern(r"nvidia[-_](?:fs|gds|peer)")
# `dkms status` is a shell script that looks at every module of every kernel.
_SECONDS = 20.0
_VERSION = pattern(r"^NVIDIA_VERSION\s*:?=\s*(\d+(?:\.\d+)+)", re.MULTILINE)
_OF_KERNEL = pattern(r"make\.log for \S+ for kernel (\S+)")


def probe(machine: Machine, ask: bool) -> Maybe[tuple[Dkms, ...] | None]:
    """Return DKMS's entries of NVIDIA's driver; None where DKMS is not installed.

    Args:
        machine: the machine.
        ask: run `dkms status`, which takes up to a second; else only its folders are read.
    """
    found = _listed(machine, ask)
    return found if found is None or isinstance(found, Unknown) else _with_sources(machine, found)


def _listed(machine: Machine, ask: bool) -> Maybe[tuple[Dkms, ...] | None]:
    folders = _from_folders(machine)
    program = machine.which("dkms", _SBIN)
    if program is None:
        return folders or None
    if not ask:
        return folders
    ended = machine.run([program, "status"], seconds=_SECONDS)
    listed = tuple(
        Dkms(module=m.module, version=m.version, kernel=m.kernel, state=m.state)
        for m in dkms_status(f"{ended.out}\n{ended.err}")
        if _is_driver(m.module)
    )
    if listed or ended.ok:
        return listed
    return folders or Unknown(f"dkms status: {ended.err.strip() or ended.missing or 'it timed out'}")


def unlisted(machine: Machine, entries: Maybe[tuple[Dkms, ...] | None]) -> tuple[str, ...]:
    """Sources of the driver where DKMS looks for them (dkms(8)), none of which it lists: "nvidia/560.35.03"."""
    if entries != () or machine.which("dkms", _SBIN) is None:
        return ()
    names = (name.rpartition("-") for name in machine.names(_SOURCES) if machine.exists(f"{_SOURCES}/{name}/dkms.conf"))
    return tuple(f"{module}/{version}" for module, _, version in names if _is_driver(module) and version[:1].isdigit())


def _with_sources(machine: Machine, entries: tuple[Dkms, ...]) -> tuple[Dkms, ...]:
    """The entries with the version that their source itself has: NVIDIA_VERSION in version.mk of the open modules."""
    sources = {
        (e.module, e.version): _VERSION.search(machine.line(f"{_SOURCES}/{e.module}-{e.version}/version.mk") or "")
        for e in entries
    }
    named = {entry: found[1] for entry, found in sources.items() if found}
    return tuple(
        msgspec.structs.replace(e, source=named[e.module, e.version]) if (e.module, e.version) in named else e
        for e in entries
    )


def errors(machine: Machine, entries: Maybe[tuple[Dkms, ...] | None], release: str) -> tuple[str, ...]:
    """Return the telling lines of make.log where an entry is not installed for the running kernel."""
    if isinstance(entries, Unknown) or not entries:
        return ()
    well = {(e.module, e.version) for e in entries if e.kernel == release and e.state.startswith("installed")}
    for module, version in dict.fromkeys((e.module, e.version) for e in entries):
        lines = () if (module, version) in well else _telling(machine, f"{_TREE}/{module}/{version}", release)
        if lines:
            return lines
    return ()


def _telling(machine: Machine, folder: str, release: str) -> tuple[str, ...]:
    arch = machine.architecture()
    for log in (f"{folder}/build/make.log", f"{folder}/{release}/{arch}/log/make.log"):
        try:
            text = machine.text(log)
        except OSError:
            continue
        kernel = _OF_KERNEL.search(text)
        if kernel is None or kernel[1] == release:  # build/ holds the last failure, of whichever kernel
            return build_log.errors(text)
    return ()


def _is_driver(module: str) -> bool:
    return module.startswith("nvidia") and not _OTHERS.match(module)


def _from_folders(machine: Machine) -> tuple[Dkms, ...]:
    """Read DKMS's tree as `dkms status` does (dkms(8), "DKMS files")."""
    found: list[Dkms] = []
    for module in filter(_is_driver, machine.names(_TREE)):
        for version in machine.names(f"{_TREE}/{module}"):
            if version[0].isdigit():
                found += _of_version(machine, module, version)
    return tuple(found)


def _of_version(machine: Machine, module: str, version: str) -> list[Dkms]:
    folder = f"{_TREE}/{module}/{version}"
    if not machine.exists(f"{folder}/source/dkms.conf"):
        return [Dkms(module=module, version=version, state="broken")]
    built = [
        Dkms(module=module, version=version, kernel=kernel, state=_state(machine, module, version, kernel))
        for kernel in machine.names(folder)
        if machine.exists(f"{folder}/{kernel}/{machine.architecture()}/module")
    ]
    return built or [Dkms(module=module, version=version, state="added")]


def _state(machine: Machine, module: str, version: str, kernel: str) -> str:
    link = machine.link(f"{_TREE}/{module}/kernel-{kernel}-{machine.architecture()}") or ""
    return "installed" if link.startswith(f"{version}/") else "built"
