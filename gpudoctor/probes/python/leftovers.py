"""What is left of packages that are none any more: hollow folders, metadata without a module, what pip renamed."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import msgspec

from gpudoctor.facts.python import Remnant
from gpudoctor.knowledge.python_rules import python_rules
from gpudoctor.knowledge.wanted import is_framework, matters, module_of, modules, wanted
from gpudoctor.machine import Machine
from gpudoctor.parsers.metadata import normalise, read_head
from gpudoctor.parsers.pip_leftovers import could_be, is_remains
from gpudoctor.probes.python.conflicts import offer
from gpudoctor.probes.python.packages import DirectoryNames, FoundDistribution, PathEntry, text_of


def remnants(
    machine: Machine, folders: Sequence[PathEntry], found: Sequence[FoundDistribution], names: DirectoryNames
) -> tuple[Remnant, ...]:
    """Folders and metadata in the environment's own folders that are no packages any more."""
    sites = [entry for entry in folders if entry.is_site]
    parts = (
        *(_hollow(machine, folders, sites, found, names, module) for module in modules()),
        *(_half_deleted(machine, entry) for entry in sites),
        _shared(machine, folders, found, names),
        (remnant for each in found for remnant in _without_module(machine, folders, each, names)),
    )
    return tuple(chain.from_iterable(parts))


def _hollow(
    machine: Machine,
    folders: Sequence[PathEntry],
    sites: Sequence[PathEntry],
    found: Sequence[FoundDistribution],
    names: DirectoryNames,
    module: str,
) -> Iterator[Remnant]:
    """A folder that would become an empty namespace package, as nothing on sys.path offers the module."""
    lie = [entry for entry in sites if module in entry.names and names.of(f"{entry.path}/{module}")]
    if not lie or any(offer(machine, entry, module, names) for entry in folders):
        return
    if any(_has_as_namespace(machine, each, module) for each in found):
        return
    for entry in lie:
        reported = any(
            each.package.directory == entry.path and module_of(each.package.name) == module for each in found
        )
        why = "no __init__.py" if reported else "no __init__.py and no metadata"
        yield Remnant(module=module, path=f"{entry.path}/{module}", reason=why)


def _has_as_namespace(machine: Machine, found: FoundDistribution, module: str) -> bool:
    """Whether a distribution brings files of the folder and no __init__.py, as sgl-kernel does with flash_attn/cute."""
    record = f"\n{text_of(machine, f'{found.place}/RECORD')}"
    return f"\n{module}/" in record and f"\n{module}/__init__.py," not in record


def _shared(
    machine: Machine, folders: Sequence[PathEntry], found: Sequence[FoundDistribution], names: DirectoryNames
) -> Iterator[Remnant]:
    """A module that several distributions write: who removes one of them removes it, and the others' metadata stays."""
    rows = {row.module: row.distributions for row in wanted().shared}
    rows |= {
        module: tuple(sorted(builds)) for module, builds in python_rules().builds.items() if module not in modules()
    }
    for module, distributions in rows.items():
        there = sorted(
            (each for each in found if each.package.name in distributions),
            key=lambda each: distributions.index(each.package.name),
        )
        if not there or any(offer(machine, entry, module, names) for entry in folders):
            continue
        claim = f"{module}/__init__.py,"
        one = next((each for each in there if claim in text_of(machine, f"{each.place}/RECORD")), None)
        if one is None:
            continue
        folder, package = f"{one.package.directory}/{module}", one.package
        path, why = (folder, "no __init__.py") if names.of(folder) else (one.place, "no module")
        from gpudoctor.probes.python.gpu_packages import needing  # few environments have such a remnant

        users = needing(machine, found, distributions)
        yield Remnant(
            module=module, path=path, reason=why, package=package.name, version=package.version, needed_by=users
        )


def _half_deleted(machine: Machine, entry: PathEntry) -> Iterator[Remnant]:
    """What pip renamed to delete it, and did not: torch becomes ~orch, torch-2.7.1.dist-info ~orch-2.7.1.dist-info."""
    left = [name for name in sorted(entry.names) if is_remains(name)]
    records = [_record(machine, entry.path, name) for name in left if name.endswith(".dist-info")]
    for name in left:
        own = next((record for record in records if record.path == name), None)
        if own is None:  # its metadata, where pip left that as well, names its folders
            own = next((r for r in records if any(could_be(name, top) for top in r.tops)), None)
        module = own.module if own else _former(name, (*modules(), "nvidia"))
        if module:
            package, version = (own.package, own.version) if own else ("", None)
            yield Remnant(module=module, path=f"{entry.path}/{name}", reason=name, package=package, version=version)


class _Record(msgspec.Struct, frozen=True):
    """Metadata that pip renamed: of which package, and the folders that it claims."""

    path: str
    module: str | None
    package: str
    version: str | None
    tops: frozenset[str]


def _record(machine: Machine, folder: str, name: str) -> _Record:
    """What the renamed metadata says, else what its name does."""
    head = read_head(text_of(machine, f"{folder}/{name}/METADATA"))
    stem, _, number = name.removesuffix(".dist-info").rpartition("-")
    written = normalise(head.name) if head.name else _former(stem, modules()) or ""
    module = module_of(written) or (written if matters(written) else None)
    rows = text_of(machine, f"{folder}/{name}/RECORD").splitlines()
    tops = frozenset(row.partition("/")[0] for row in rows if "/" in row and ".dist-info" not in row)
    return _Record(name, module, written, head.version or number or None, tops)


def _former(name: str, names: Iterable[str]) -> str | None:
    """Which of these names pip may have replaced by this one."""
    stem = name.removesuffix(".dist-info").rpartition("-")[0] if name.endswith(".dist-info") else name
    return next((one for one in names if could_be(stem, one)), None)


def _without_module(
    machine: Machine, folders: Sequence[PathEntry], found: FoundDistribution, names: DirectoryNames
) -> Iterator[Remnant]:
    """Metadata of a package that should bring a module, where its folder has none: a placeholder, or half of it.

    Of a framework a RECORD that names no module tells of a placeholder; elsewhere it proves nothing.
    """
    module, folder = module_of(found.package.name), found.package.directory
    entry = next((entry for entry in folders if entry.path == folder), None)
    if module is None or entry is None or offer(machine, entry, module, names) or module in entry.names:
        return
    if not is_framework(module) and f"{module}/__init__.py" not in found.claims:
        return
    if any(offer(machine, other, module, names) for other in folders if other.origin == ".pth"):
        return  # a development checkout
    if "direct_url.json" in names.of(found.place) and _is_editable(machine, found.place):
        return
    package = found.package
    yield Remnant(module=module, path=found.place, reason="no module", package=package.name, version=package.version)


def _is_editable(machine: Machine, place: str) -> bool:
    return '"editable": true' in (machine.line(f"{place}/direct_url.json") or "")
