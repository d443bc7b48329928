"""Where the loader looks for what a compiled extension needs, and what the environment has besides."""

import os
import re
from collections.abc import Collection, Sequence

from gpudoctor.facts.python import MissingVersion
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.parsers import ldcache, loader
from gpudoctor.parsers.elf import Dynamic, NotElfError, defined_symbols, read_dynamic, undefined_symbols
from gpudoctor.parsers.elf.lookup import defines
from gpudoctor.parsers.elf.versions import defined_versions, needed_versions
from gpudoctor.probes.python.packages import DirectoryNames, FoundDistribution

# More would make a report unreadable and say no more.
_MOST_SYMBOLS = 20
# What PyTorch defines: names in its namespaces (Itanium C++ ABI, <nested-name>), and its C interfaces.
_LINKER = pattern(r"(__nvJitLink[A-Za-z]+)_\d+_\d+")
_OURS = pattern(r"_Z(?:T[VTIS]|GV)?N[rVKRO]*(?:2at|3c10|5torch|6caffe2)(?=[A-Z\d])|_Z\d+THP|aoti_torch_|torch_library_")


class InstalledTorch:
    """The installed PyTorch: its directory of libraries, and what `import torch` has mapped."""

    def __init__(self, machine: Machine, folder: str, names: DirectoryNames) -> None:
        self._machine = machine
        self.folder = folder
        self.libraries = tuple(sorted(name for name in names.of(folder) if ".so" in name))
        self.mapped = frozenset(self.libraries) | {needed for name in self.libraries for needed in self._needed(name)}

    def _needed(self, name: str) -> tuple[str, ...]:
        dynamic = dynamic_of(self._machine, f"{self.folder}/{name}")
        return dynamic.needed if dynamic else ()

    def lacks(self, path: str, beside: Sequence[str]) -> tuple[str, ...]:
        """The symbols of PyTorch that an extension needs and that neither PyTorch nor those libraries define."""
        left = _wanted(self._machine, path)
        for place in (*beside, *(f"{self.folder}/{name}" for name in self.libraries)):
            if left:
                left -= _defined(self._machine, place, left)
        return tuple(sorted(left)[:_MOST_SYMBOLS])


class ExtensionSearch:
    """The loader's search for what an extension needs, and the libraries that the environment has anywhere.

    Args:
        machine: the machine.
        prefix: the environment's, whose lib directory conda's Python searches.
        found: the distributions, whose libraries a package may open by path.
        torch: the installed PyTorch; None: there is none.
    """

    def __init__(
        self, machine: Machine, prefix: str, found: Sequence[FoundDistribution], torch: InstalledTorch | None
    ) -> None:
        self._machine = machine
        self._path = machine.env.get("LD_LIBRARY_PATH", "")
        self._conda = (f"{prefix}/lib",) if machine.exists(f"{prefix}/conda-meta") else ()
        try:
            self._cache = ldcache.parse(machine.data("/etc/ld.so.cache"), machine.architecture())
        except (OSError, ValueError):
            self._cache = {}
        own = {name for each in found for name in each.package.libraries}
        sites = dict.fromkeys(each.package.directory for each in found)
        self._folders = tuple(f"{s}/nvidia/{part}/lib" for s in sites for part in machine.names(f"{s}/nvidia"))
        for folder in self._folders:
            own.update(machine.names(folder))
        self._folders += (torch.folder,) if torch else ()
        self._own = frozenset(own) | (frozenset(torch.libraries) if torch else frozenset())

    def has(self, soname: str) -> bool:
        """Whether the environment has a library in any of its directories, where a package may open it by path."""
        return soname in self._own

    def copy(self, soname: str) -> str | None:
        """The file of a library in NVIDIA's wheels, or next to PyTorch's."""
        places = (f"{folder}/{soname}" for folder in self._folders)
        return next(filter(self._machine.exists, places), None)

    def find(self, soname: str, dynamic: Dynamic, origin: str) -> loader.Resolved | None:
        """The library that the loader would load for a soname."""
        order = loader.search_order(
            self._path, self._cache, dynamic.runpath, dynamic.rpath, origin, (*self._conda, *loader.DEFAULT_DIRS)
        )
        return loader.resolve(soname, order, self._machine.exists)

    def first(self, soname: str, dynamic: Dynamic, origin: str) -> str | None:
        """The copy that is in the process: conda's, which its Python loads before all others, else the loader's."""
        for folder in self._conda:
            if self._machine.exists(f"{folder}/{soname}"):
                return f"{folder}/{soname}"
        place = self.find(soname, dynamic, origin)
        return place.path if place else None


def missing_versions(
    machine: Machine, search: ExtensionSearch, path: str, dynamic: Dynamic
) -> tuple[MissingVersion, ...]:
    """The symbol versions that a library needs and that the copies which the loader takes do not define."""
    try:
        with machine.open(path) as file:
            needed = needed_versions(file)
    except (OSError, NotElfError):
        return ()
    found = []
    for library, versions in needed.items():
        place = search.first(library, dynamic, os.path.dirname(path))
        there = _versions(machine, place) if place else frozenset()
        # A library without any versions is accepted by the loader: https://man7.org/linux/man-pages/man8/ld.so.8.html
        lacking = [one for one in versions if one not in there] if there else []
        if place and lacking:
            worst = max(lacking, key=_order)
            found.append(MissingVersion(version=worst, path=place, newest=_newest(worst, there)))
    return tuple(found)


def outdated_linker(
    machine: Machine, search: ExtensionSearch, path: str, dynamic: Dynamic
) -> tuple[MissingVersion, ...]:
    """The function of nvJitLink that a library needs and that the copy which the loader takes does not define.

    nvJitLink.h makes a call that names the toolkit, __nvJitLinkCreate_12_8; each nvJitLink has those of its own minor
    release and of all older ones: https://github.com/NVIDIA/cccl/pull/4851
    """
    soname = next((name for name in dynamic.needed if name.startswith("libnvJitLink.so.")), None)
    place = search.first(soname, dynamic, os.path.dirname(path)) if soname else None
    if place is None:
        return ()
    try:
        with machine.open(path) as file, machine.open(place) as linker:
            wanted = {name for name in undefined_symbols(file) if _LINKER.fullmatch(name)}
            there = {name for name in defined_symbols(linker) if _LINKER.fullmatch(name)} if wanted else set[str]()
    except (OSError, NotElfError):
        return ()
    newest = max(wanted, key=_linker_release, default="")
    known = [name for name in there if name.startswith(_LINKER.sub(r"\1_", newest))]
    if not known or newest in there:
        return ()
    return (MissingVersion(version=newest, path=place, newest=max(known, key=_linker_release)),)


def _linker_release(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in name.split("_")[-2:])


def _versions(machine: Machine, path: str) -> frozenset[str]:
    try:
        with machine.open(path) as file:
            return defined_versions(file)
    except (OSError, NotElfError):
        return frozenset()


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.rpartition("_")[2]))


def _newest(version: str, there: Collection[str]) -> str:
    """The newest version of the same name: "GLIBC_2.31" for "GLIBC_2.32"."""
    name = version.rpartition("_")[0]
    own = [one for one in there if one.rpartition("_")[0] == name and _order(one)]
    return max(own, key=_order, default="")


def _wanted(machine: Machine, path: str) -> set[str]:
    try:
        with machine.open(path) as file:
            return {name for name in undefined_symbols(file) if _OURS.match(name)}
    except (OSError, NotElfError):
        return set()


def _defined(machine: Machine, path: str, names: Collection[str]) -> frozenset[str]:
    try:
        with machine.open(path) as file:
            return defines(file, names)
    except (OSError, NotElfError):
        return frozenset()


def dynamic_of(machine: Machine, path: str) -> Dynamic | None:
    """A library's dynamic section; None where there is none that can be read."""
    try:
        with machine.open(path) as file:
            return read_dynamic(file)
    except (OSError, NotElfError):
        return None
