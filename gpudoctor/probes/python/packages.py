"""The distributions in the folders of sys.path, from folder names alone where they do not matter for GPUs."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from gpudoctor.facts.python import Package
from gpudoctor.knowledge.wanted import is_extension, matters, wanted
from gpudoctor.machine import Machine
from gpudoctor.parsers import metadata

# RECORD of TensorFlow, the longest known, has 3 MB.
_LONGEST_RECORD = 16 << 20
# More would make a report unreadable and say no more.
_MOST_MISSING = 50
_MOST_LIBRARIES = 400
_NEEDED, _KEEP_RECORDS = ("METADATA", "RECORD"), ("pip", "uv", "poetry")


class PathEntry(msgspec.Struct, frozen=True):
    """A folder of sys.path: its names, and how it came there.

    `because` is PYTHONPATH, user site, .pth, working directory, or empty for the environment's own folders.
    """

    path: str
    names: frozenset[str]
    origin: str = ""
    is_site: bool = False


class FoundDistribution(msgspec.Struct, frozen=True):
    """A distribution, its metadata's path, and the libraries and top modules that it claims (relative paths)."""

    package: Package
    place: str
    claims: tuple[str, ...] = ()


class DirectoryNames:
    """The names in folders, each folder read once."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._known: dict[str, frozenset[str]] = {}

    def of(self, folder: str) -> frozenset[str]:
        """The names in a folder; empty where it is missing or closed."""
        if folder not in self._known:
            self._known[folder] = frozenset(self._machine.names(folder))
        return self._known[folder]

    def has(self, path: str) -> bool:
        """Whether a path is there, by the listing of its folder."""
        folder, _, name = path.rpartition("/")
        return name in self.of(folder)


def entries(
    machine: Machine, sys_path: Sequence[str], python_path: str, user_site: str | None, sites: Iterable[str]
) -> list[PathEntry]:
    """The folders of sys.path that may hold packages, each once even where links name it twice.

    Args:
        machine: where to look.
        sys_path: the search path, less the standard library.
        python_path: the value of PYTHONPATH.
        user_site: the user's own site folder, where it takes part.
        sites: the folders that the environment itself has for packages.
    """
    given = {machine.real(part) for part in python_path.split(";" if machine.system == "Windows" else ":") if part}
    own, seen, found = {machine.real(site) for site in sites}, set(), []
    user = machine.real(user_site) if user_site else None
    for path in sys_path:
        real = machine.real(path)
        if real in seen:
            continue
        seen.add(real)
        origin = "PYTHONPATH" if real in given else "user site" if real == user else "" if real in own else ".pth"
        found.append(PathEntry(path, frozenset(machine.names(path)), origin, real in own or real == user))
    return [entry for entry in found if entry.names]


def find(machine: Machine, folders: Sequence[PathEntry], names: DirectoryNames) -> list[FoundDistribution]:
    """Every distribution, in the order of sys.path and then of names."""
    return [found for entry in folders for found in _in_folder(machine, entry, names)]


def _in_folder(machine: Machine, entry: PathEntry, names: DirectoryNames) -> Iterator[FoundDistribution]:
    for name in sorted(entry.names):
        if name.endswith((".dist-info", ".egg-info")) and name[0] != "~":
            yield _distribution(machine, entry.path, name, names)
        elif name == "EGG-INFO" and entry.path.endswith(".egg"):
            egg, place = os.path.basename(entry.path).removesuffix(".egg"), f"{entry.path}/EGG-INFO"
            yield FoundDistribution(_egg(machine, entry.path, egg, place, names), place)


def _distribution(machine: Machine, folder: str, name: str, names: DirectoryNames) -> FoundDistribution:
    place, stem = f"{folder}/{name}", name[: -len(".dist-info")]  # .egg-info is as long less one
    if name.endswith(".egg-info"):
        return FoundDistribution(_egg(machine, folder, name.removesuffix(".egg-info"), place, names), place)
    written, _, version = stem.rpartition("-")
    package = Package(name=metadata.normalise(written or stem), version=version if written else "", directory=folder)
    found = FoundDistribution(package, place)
    return completed(machine, found, names) if matters(package.name) else found


def _egg(machine: Machine, folder: str, stem: str, place: str, names: DirectoryNames) -> Package:
    """A distribution from an .egg-info name; only a development checkout's name lacks the version.

    What `setup.py install` and `setup.py develop` leave has no RECORD: an extension's libraries lie in its module.
    """
    name, _, rest = stem.partition("-")
    version = rest.partition("-py")[0]
    if not version:
        head = metadata.read_head(text_of(machine, f"{place}/PKG-INFO"))
        version = head.version or ""
    package = Package(name=metadata.normalise(name), version=version, directory=folder)
    if not is_extension(package.name):
        return package
    there = names.of(f"{folder}/{package.name.replace('-', '_')}")
    libraries = tuple(sorted(filter(_is_library, there)))[:_MOST_LIBRARIES]
    return msgspec.structs.replace(package, libraries=libraries)


def completed(machine: Machine, found: FoundDistribution, names: DirectoryNames) -> FoundDistribution:
    """A distribution with what its metadata says, which is read only of those that matter."""
    package, place = found.package, found.place
    head = metadata.read_head(text_of(machine, f"{place}/METADATA"))
    record = _record_of(machine, place)
    claims = _claims(record)
    installer = metadata.read_installer(text_of(machine, f"{place}/INSTALLER"))
    full = Package(
        name=package.name,
        version=head.version or package.version,
        directory=package.directory,
        installer=installer,
        requires=head.requires,
        files=record.count(b"\n") + (not record.endswith(b"\n")) if record else None,
        missing=_missing(package.directory, claims, names),
        libraries=tuple(dict.fromkeys(c.rpartition("/")[2] for c in claims if ".so" in c))[:_MOST_LIBRARIES],
        lost=tuple(name for name in _NEEDED if _is_lost(machine, place, name, installer, names)),
        cut=_cut(machine, package.directory, claims, names),
        built_with=_built_with(machine, package),
    )
    return FoundDistribution(full, place, tuple(claims))


def _is_lost(machine: Machine, place: str, name: str, installer: str | None, names: DirectoryNames) -> bool:
    """Whether RECORD is gone, or METADATA is gone or empty.

    Distributions and conda leave RECORD out, pip and uv do not; a package without files may have an empty one.
    """
    if not names.of(place) or (name == "RECORD" and installer not in _KEEP_RECORDS):
        return False
    status = machine.status(f"{place}/{name}")
    empty = name == "METADATA" and status is not None and status.size == 0
    return empty or not names.has(f"{place}/{name}")


def text_of(machine: Machine, path: str) -> str:
    """A file of a distribution's metadata; empty where it cannot be read."""
    try:
        return machine.text(path, _LONGEST_RECORD)
    except OSError:
        return ""


def _record_of(machine: Machine, place: str) -> bytes:
    """RECORD as it is: to decode all of PyTorch's takes as long as to read it."""
    try:
        return machine.data(f"{place}/RECORD", _LONGEST_RECORD)
    except OSError:
        return b""


def _built_with(machine: Machine, package: Package) -> str | None:
    """The PyTorch that a package's own record of its build names."""
    path = wanted().records.get(package.name)
    if path is None:
        return None
    import json

    try:
        record = json.loads(text_of(machine, f"{package.directory}/{path}"))
    except ValueError:
        return None
    version = record.get("version") if isinstance(record, dict) else None
    torch = version.get("torch") if isinstance(version, dict) else None
    return torch if isinstance(torch, str) else None


def _cut(machine: Machine, folder: str, claims: Mapping[str, int], names: DirectoryNames) -> tuple[str, ...]:
    """The libraries that end too early: smaller than RECORD says, and than their own headers say.

    A library that somebody stripped is smaller than RECORD says too, but whole.
    """
    libraries = ((c, f"{folder}/{c}", size) for c, size in claims.items() if size and _is_library(c))
    there = ((c, machine.status(path), path, size) for c, path, size in libraries if names.has(path))
    smaller = ((c, path, status.size) for c, status, path, size in there if status and status.size < size)
    return tuple(c for c, path, size in smaller if _ends_early(machine, path, size))[:_MOST_MISSING]


def _ends_early(machine: Machine, path: str, size: int) -> bool:
    from gpudoctor.parsers import elf  # hardly ever needed: few libraries are smaller than RECORD says

    try:
        with machine.open(path) as file:
            return elf.end_of(file) > size
    except elf.NotElfError:
        return True
    except OSError:
        return False


def _claims(record: bytes) -> dict[str, int]:
    """RECORD's shared libraries and the __init__.py of its top folders, with their sizes (0: it has none).

    ../ leads to scripts, / to elsewhere.
    """
    lines = {start: line for part in (b".so", b"/__init__.py") for start, line in _lines_with(record, part)}
    rows = ((_path(line), line) for _, line in sorted(lines.items()))
    return {path: _size(line) for path, line in rows if path[0] not in "./" and (_is_library(path) or _is_top(path))}


def _size(line: str) -> int:
    """The size in a line of RECORD; a number too long for a file is none."""
    size = line.rstrip().rpartition(",")[2]
    return int(size) if size.isdecimal() and len(size) < 16 else 0


def _lines_with(data: bytes, part: bytes) -> Iterator[tuple[int, str]]:
    """The lines that hold a part, each with its place; PyTorch's RECORD has 15 000 lines, and few of them matter."""
    at = data.find(part)
    while at >= 0:
        start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
        end = end if end >= 0 else len(data)
        yield start, data[start:end].decode("utf-8", "replace")
        at = data.find(part, end)


def _path(line: str) -> str:
    """The path of a line of RECORD; one with a comma stands in quotes."""
    return (line[1:].partition('"')[0] if line[:1] == '"' else line.partition(",")[0]) or "/"


def _is_library(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.endswith(".so") or ".so." in name


def _is_top(path: str) -> bool:
    """Whether this makes a top folder a package; that of nvidia, which many share, is empty and may be missing."""
    return path.count("/") == 1 and path.endswith("/__init__.py") and not path.startswith("nvidia/")


def _missing(folder: str, claims: Iterable[str], names: DirectoryNames) -> tuple[str, ...]:
    return tuple(claim for claim in claims if not names.has(f"{folder}/{claim}"))[:_MOST_MISSING]
