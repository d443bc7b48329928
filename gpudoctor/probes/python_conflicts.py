"""What quarrels in an environment: modules offered twice, leftovers of packages, files with two owners."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from gpudoctor.facts.python import Overlap, Package, Remnant, Shadow
from gpudoctor.knowledge.wanted import is_framework, module_of, modules
from gpudoctor.machine import Machine
from gpudoctor.probes.python_packages import Entry, Found, Names

# More would make a report unreadable and say no more.
_MOST_FILES = 20
# What pip puts before, or in place of the first letters of, the name of a folder that it is about to delete
# (pypa/pip, src/pip/_internal/utils/temp_dir.py, AdjacentTempDirectory).
_PIP_LEFT = "~"
_PIP_FILLS = "~-.=%0123456789"


def offer(machine: Machine, entry: Entry, module: str, names: Names) -> str | None:
    """What an entry of sys.path offers for an import name, as the path finder sees it.

    The folder of a package, else the file of a module: extension modules come before source, source before bytecode
    (https://docs.python.org/3/reference/import.html#the-path-based-finder). Namespace packages are no offer.
    """
    if module in entry.names and _is_package(names.of(f"{entry.path}/{module}")):
        return f"{entry.path}/{module}"
    files = [name for name in entry.names if name.startswith(f"{module}.") and _is_module(name[len(module) :])]
    best = min(files, key=lambda name: (not name.endswith(".so"), not name.endswith(".py")), default=None)
    path = f"{entry.path}/{best}" if best else None
    status = machine.status(path) if path else None
    return path if status is not None and not status.is_dir else None


def _is_package(names: Iterable[str]) -> bool:
    return any(name.startswith("__init__.") and _is_module(name[len("__init__") :]) for name in names)


def _is_module(suffix: str) -> bool:
    plain = suffix in (".py", ".pyc", ".so", ".abi3.so")
    return plain or (suffix.endswith(".so") and suffix.startswith((".cpython-", ".pypy", ".graalpy")))


def shadows(
    machine: Machine, folders: Sequence[Entry], packages: Sequence[Package], names: Names
) -> tuple[Shadow, ...]:
    """The import names that sys.path offers more than once; two copies behind one link are one."""
    return tuple(shadow for module in modules() for shadow in _shadow(machine, folders, packages, names, module))


def _shadow(
    machine: Machine, folders: Sequence[Entry], packages: Sequence[Package], names: Names, module: str
) -> Iterator[Shadow]:
    offers: dict[str, tuple[Entry, str]] = {}
    for entry in folders:
        path = offer(machine, entry, module, names)
        if path:
            offers.setdefault(machine.real(path), (entry, path))
    if len(offers) > 1:
        (entry, wins), *others = offers.values()
        version = next((p.version for p in packages if p.folder == entry.path and module_of(p.name) == module), None)
        loses = tuple(path for _, path in others)
        yield Shadow(module=module, wins=wins, loses=loses, version=version, because=entry.because)


def remnants(machine: Machine, folders: Sequence[Entry], found: Sequence[Found], names: Names) -> tuple[Remnant, ...]:
    """Folders and metadata in the environment's own folders that are no packages any more."""
    sites = [entry for entry in folders if entry.is_site]
    parts = (
        *(_hollow(machine, folders, sites, found, names, module) for module in modules()),
        *(_half_deleted(entry) for entry in sites),
        (remnant for each in found for remnant in _without_module(machine, folders, each, names)),
    )
    return tuple(chain.from_iterable(parts))


def _hollow(
    machine: Machine,
    folders: Sequence[Entry],
    sites: Sequence[Entry],
    found: Sequence[Found],
    names: Names,
    module: str,
) -> Iterator[Remnant]:
    """A folder that would become an empty namespace package, as nothing on sys.path offers the module."""
    lie = [entry for entry in sites if module in entry.names and names.of(f"{entry.path}/{module}")]
    if not lie or any(offer(machine, entry, module, names) for entry in folders):
        return
    for entry in lie:
        told = any(each.package.folder == entry.path and module_of(each.package.name) == module for each in found)
        why = "no __init__.py" if told else "no __init__.py and no metadata"
        yield Remnant(module=module, path=f"{entry.path}/{module}", why=why)


def _half_deleted(entry: Entry) -> Iterator[Remnant]:
    """Folders that pip renamed to delete them, and did not: torch becomes ~orch, then ~-rch."""
    for name in sorted(entry.names):
        if name[:1] == _PIP_LEFT:
            rest = name.lstrip(_PIP_FILLS)
            stem = rest.partition("-")[0]
            whole = (m for m in (*modules(), "nvidia") if len(stem) > 1 and m.endswith(stem) and m != stem)
            module = next((m for m in whole if len(name) - len(rest) == len(m) - len(stem)), None)
            if module:
                yield Remnant(module=module, path=f"{entry.path}/{name}", why=name)


def _without_module(machine: Machine, folders: Sequence[Entry], found: Found, names: Names) -> Iterator[Remnant]:
    """Metadata of a package that should bring a module, where its folder has none: a placeholder, or half of it.

    Of a framework a RECORD that names no module tells of a placeholder; elsewhere it proves nothing.
    """
    module, folder = module_of(found.package.name), found.package.folder
    entry = next((entry for entry in folders if entry.path == folder), None)
    if module is None or entry is None or offer(machine, entry, module, names) or module in entry.names:
        return
    if not is_framework(module) and f"{module}/__init__.py" not in found.claims:
        return
    if any(offer(machine, other, module, names) for other in folders if other.because == ".pth"):
        return  # a development checkout
    if "direct_url.json" in names.of(found.place) and _is_editable(machine, found.place):
        return
    yield Remnant(module=module, path=found.place, why="no module")


def _is_editable(machine: Machine, place: str) -> bool:
    return '"editable": true' in (machine.line(f"{place}/direct_url.json") or "")


def overlaps(found: Sequence[Found]) -> tuple[Overlap, ...]:
    """Files that distributions of different names claim in one folder, by the owners that share them."""
    owners: dict[tuple[str, str], set[str]] = {}
    for each in found:
        for claim in each.claims:
            owners.setdefault((each.package.folder, claim), set()).add(each.package.name)
    shared: dict[tuple[str, ...], list[str]] = {}
    for (_, path), names in owners.items():
        if len(names) > 1:
            shared.setdefault(tuple(sorted(names)), []).append(path)
    shared = shared | {names: [f"{module}/"] for names, module in _families(found) if names not in shared}
    return tuple(Overlap(packages=names, files=tuple(files[:_MOST_FILES])) for names, files in shared.items())


def _families(found: Sequence[Found]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Distributions of one import name in one folder, where one has no RECORD that could tell."""
    together: dict[tuple[str, str], list[Package]] = {}
    for each in found:
        module = module_of(each.package.name)
        if module:
            together.setdefault((each.package.folder, module), []).append(each.package)
    for (_, module), packages in together.items():
        names = tuple(sorted({package.name for package in packages}))
        if len(names) > 1 and any(package.files is None for package in packages):
            yield names, module
