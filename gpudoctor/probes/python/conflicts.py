"""What quarrels in an environment: modules offered twice, files with two owners."""

from collections.abc import Iterable, Iterator, Sequence

from gpudoctor.facts.python import FileMix, FileOverlap, Overwritten, Package, Shadow
from gpudoctor.knowledge.wanted import hideable, module_of, wanted
from gpudoctor.machine import Machine
from gpudoctor.parsers.metadata import normalise
from gpudoctor.probes.python.packages import DirectoryNames, FoundDistribution, PathEntry, text_of

# More would make a report unreadable and say no more.
_MOST_FILES = 20


def offer(machine: Machine, entry: PathEntry, module: str, names: DirectoryNames) -> str | None:
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
    machine: Machine, folders: Sequence[PathEntry], packages: Sequence[Package], names: DirectoryNames
) -> tuple[Shadow, ...]:
    """The import names that sys.path offers more than once; two copies behind one link are one.

    Those that only matter because the working directory often has a file or folder of that name count there alone.
    """
    own = set(wanted().hidden)
    found = (shadow for module in hideable() for shadow in _shadow(machine, folders, packages, names, module))
    return tuple(one for one in found if one.module not in own or one.origin == "working directory")


def _shadow(
    machine: Machine, folders: Sequence[PathEntry], packages: Sequence[Package], names: DirectoryNames, module: str
) -> Iterator[Shadow]:
    offers: dict[str, tuple[PathEntry, str]] = {}
    for entry in folders:
        path = offer(machine, entry, module, names)
        if path:
            offers.setdefault(machine.real(path), (entry, path))
    if len(offers) > 1:
        (entry, wins), *others = offers.values()
        version = next((p.version for p in packages if p.directory == entry.path and module_of(p.name) == module), None)
        loses = tuple(path for _, path in others)
        yield Shadow(module=module, wins=wins, loses=loses, version=version, origin=entry.origin)
    for _, wins in list(offers.values())[:1]:
        for entry in folders:
            yield from _portion(machine, entry, packages, names, module, wins)


def _portion(
    machine: Machine, entry: PathEntry, packages: Sequence[Package], names: DirectoryNames, module: str, wins: str
) -> Iterator[Shadow]:
    """What a distribution laid into a directory without __init__.py: a regular package of the name hides it.

    That is so wherever on sys.path the package is (https://peps.python.org/pep-0420/#specification). A directory that
    no distribution of this name brought is a remnant, or somebody's data.
    """
    folder = f"{entry.path}/{module}"
    if module not in entry.names or folder == wins or _is_package(inside := names.of(folder)):
        return
    parts = sorted(name for name in inside if _is_package(names.of(f"{folder}/{name}")) or name.endswith(".py"))
    for package in packages:
        if parts and package.directory == entry.path and package.name.startswith(f"{normalise(module)}-"):
            place = f"{entry.path}/{package.name.replace('-', '_')}-{package.version}.dist-info"
            if f"{module}/{parts[0]}" in text_of(machine, f"{place}/RECORD"):
                loses = tuple(f"{folder}/{part}" for part in parts)
                yield Shadow(module=module, wins=wins, loses=loses, origin="namespace", portion_of=package.name)


def hidden_standard(
    machine: Machine, folders: Sequence[PathEntry], standard: Sequence[str], library: str, names: DirectoryNames
) -> tuple[Shadow, ...]:
    """The modules of the standard library that files of somebody's hide.

    Args:
        machine: where they lie.
        folders: what stands before the standard library on sys.path: PYTHONPATH and the working directory.
        standard: the names that can be hidden.
        library: the folder of the standard library.
        names: what lies in folders.
    """
    found = []
    for entry in folders:
        tops = {name.partition(".")[0] for name in entry.names}
        for module in (name for name in standard if name in tops):
            if path := offer(machine, entry, module, names):
                places = (f"{library}/{module}{suffix}" for suffix in ("", ".py"))
                own = next((place for place in places if machine.exists(place)), library)
                shadow = Shadow(module=module, wins=path, loses=(own,), origin=entry.origin, standard=True)
                found.append(shadow)
    return tuple(found)


def overlaps(found: Sequence[FoundDistribution]) -> tuple[FileOverlap, ...]:
    """Files that distributions of different names claim in one folder, by the owners that share them."""
    owners: dict[tuple[str, str], set[str]] = {}
    for each in found:
        for claim in each.claims:
            owners.setdefault((each.package.directory, claim), set()).add(each.package.name)
    shared: dict[tuple[str, ...], list[str]] = {}
    for (_, path), names in owners.items():
        if len(names) > 1:
            shared.setdefault(tuple(sorted(names)), []).append(path)
    shared = shared | {names: [f"{module}/"] for names, module in _families(found) if names not in shared}
    return tuple(FileOverlap(packages=names, files=tuple(files[:_MOST_FILES])) for names, files in shared.items())


def mixed(machine: Machine, found: Sequence[FoundDistribution]) -> Iterator[FileMix]:
    """The pairs of the table of which the files that are there are of both, by their sizes in RECORD."""
    for pair in wanted().same_paths:
        there = {each.package.name: each for each in found if each.package.name in pair}
        if len(there) == len(pair) and len({each.package.directory for each in there.values()}) == 1:
            first, second = (there[name] for name in pair)
            ours, theirs = _sizes(machine, first), _sizes(machine, second)
            differ = {path for path in ours.keys() & theirs if ours[path] != theirs[path]}
            sizes = {path: machine.status(f"{first.package.directory}/{path}") for path in sorted(differ)}
            of_first = [path for path, status in sizes.items() if status and status.size == ours[path]]
            of_second = [path for path, status in sizes.items() if status and status.size == theirs[path]]
            if of_first and of_second:
                yield FileMix(packages=pair, files=(of_first[0], of_second[0]))


def overwritten(machine: Machine, found: Sequence[FoundDistribution]) -> Iterator[Overwritten]:
    """The fuller distributions of a module whose library is another one's, by their sizes in RECORD."""
    for row in wanted().shared:
        there = [each for each in found if each.package.name in row.distributions]
        fuller = [each for each in there if each.package.name in row.fuller]
        if not fuller or len(there) == len(fuller):
            continue
        status = machine.status(f"{fuller[0].package.directory}/{row.library}")
        sizes = {each.package.name: _sizes(machine, each).get(row.library) for each in there}
        kept = [each.package.name for each in fuller if status and sizes[each.package.name] == status.size]
        by = [name for name, size in sizes.items() if name not in row.fuller and status and size == status.size]
        if by and not kept and all(sizes[each.package.name] for each in fuller):
            yield Overwritten(package=fuller[0].package.name, by=by[0], file=row.library)


def _sizes(machine: Machine, one: FoundDistribution) -> dict[str, int]:
    """The size of each file by RECORD."""
    rows = (line.rsplit(",", 2) for line in text_of(machine, f"{one.place}/RECORD").splitlines())
    return {row[0]: int(row[2]) for row in rows if len(row) == 3 and row[2].isdigit()}


def _families(found: Sequence[FoundDistribution]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Distributions of one import name in one folder, where one has no RECORD that could tell."""
    together: dict[tuple[str, str], list[Package]] = {}
    for each in found:
        module = module_of(each.package.name)
        if module:
            together.setdefault((each.package.directory, module), []).append(each.package)
    for (_, module), packages in together.items():
        names = tuple(sorted({package.name for package in packages}))
        if len(names) > 1 and any(package.files is None for package in packages):
            yield names, module
