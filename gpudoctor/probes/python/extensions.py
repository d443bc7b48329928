"""Compiled code of other packages that links against PyTorch: what it needs and does not find."""

import os
from collections.abc import Collection, Iterator, Sequence

from gpudoctor.facts.python import Extension
from gpudoctor.knowledge.wanted import is_extension
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.parsers import ldcache, loader
from gpudoctor.parsers.elf import Dynamic, NotElfError, read_dynamic, undefined_symbols
from gpudoctor.parsers.elf.lookup import defines
from gpudoctor.probes.python.packages import DirectoryNames, FoundDistribution

# vLLM and mmcv bring up to ten; a package with hundreds would cost seconds and fail in the same way.
_MOST_LIBRARIES = 24
# More would make a report unreadable and say no more.
_MOST_SYMBOLS = 20

_TORCH = pattern(r"lib(?:c10|torch|caffe2)[a-z0-9_]*\.so")
# What PyTorch defines: names in its namespaces (Itanium C++ ABI, <nested-name>), and its C interfaces.
_OURS = pattern(r"_Z(?:T[VTIS]|GV)?N[rVKRO]*(?:2at|3c10|5torch|6caffe2)(?=[A-Z\d])|_Z\d+THP|aoti_torch_|torch_library_")
# The interpreter and the C library have these mapped already, whatever the loader would find.
_ALWAYS = pattern(r"libpython3|linux-vdso|ld-linux|lib(?:c|m|dl|rt|pthread)\.so")


class InstalledTorch:
    """The installed PyTorch: its folder of libraries, and what `import torch` has mapped."""

    def __init__(self, machine: Machine, folder: str, names: DirectoryNames) -> None:
        self._machine = machine
        self._folder = folder
        self.libraries = tuple(sorted(name for name in names.of(folder) if ".so" in name))
        self.mapped = frozenset(self.libraries) | {needed for name in self.libraries for needed in self._needed(name)}

    def _needed(self, name: str) -> tuple[str, ...]:
        dynamic = _dynamic(self._machine, f"{self._folder}/{name}")
        return dynamic.needed if dynamic else ()

    def lacks(self, names: Collection[str], beside: Sequence[str]) -> tuple[str, ...]:
        """Those of the names that neither PyTorch's libraries nor the given ones beside them define."""
        left = set(names)
        for path in (*beside, *(f"{self._folder}/{name}" for name in self.libraries)):
            if left:
                left -= _defined(self._machine, path, left)
        return tuple(sorted(left)[:_MOST_SYMBOLS])


def probe(
    machine: Machine, prefix: str, found: Sequence[FoundDistribution], names: DirectoryNames
) -> tuple[Extension, ...]:
    """Every library of the known extensions that needs a library of PyTorch's.

    Args:
        machine: where they lie.
        prefix: the environment's, whose lib folder conda's Python searches.
        found: the installed distributions.
        names: the listings of folders.
    """
    extensions = [each for each in found if is_extension(each.package.name)]
    torch = next((each.package.directory for each in found if each.package.name == "torch"), None)
    if not extensions or torch is None or not names.of(f"{torch}/torch/lib"):
        return ()
    search = _ExtensionSearch(machine, prefix)
    known = InstalledTorch(machine, f"{torch}/torch/lib", names)
    return tuple(extension for each in extensions for extension in _of(machine, each, known, search))


class _ExtensionSearch:
    """Where the loader looks for what an extension needs."""

    def __init__(self, machine: Machine, prefix: str) -> None:
        self._machine = machine
        self._path = machine.env.get("LD_LIBRARY_PATH", "")
        self._conda = (f"{prefix}/lib",) if machine.exists(f"{prefix}/conda-meta") else ()
        try:
            self._cache = ldcache.parse(machine.data("/etc/ld.so.cache"), machine.architecture())
        except (OSError, ValueError):
            self._cache = {}

    def find(self, soname: str, dynamic: Dynamic, origin: str) -> loader.Resolved | None:
        """The library that the loader would load for a soname."""
        order = loader.search_order(
            self._path, self._cache, dynamic.runpath, dynamic.rpath, origin, (*self._conda, *loader.DEFAULT_DIRS)
        )
        return loader.resolve(soname, order, self._machine.exists)


def _of(
    machine: Machine, found: FoundDistribution, torch: InstalledTorch, search: _ExtensionSearch
) -> Iterator[Extension]:
    package = found.package
    libraries = [f"{package.directory}/{claim}" for claim in found.claims if ".so" in claim]
    for path in libraries[:_MOST_LIBRARIES]:
        dynamic = _dynamic(machine, path)
        if dynamic and any(_TORCH.match(name) for name in dynamic.needed):
            others = [n for n in dynamic.needed if n not in torch.mapped and not _ALWAYS.match(n)]
            places = {name: search.find(name, dynamic, os.path.dirname(path)) for name in others}
            beside = [place.path for place in places.values() if place and place.why in ("RPATH", "RUNPATH")]
            yield Extension(
                package=package.name,
                version=package.version,
                path=path,
                needed=dynamic.needed,
                missing=tuple(name for name, place in places.items() if place is None),
                unresolved=torch.lacks(_wanted(machine, path), beside),
            )


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


def _dynamic(machine: Machine, path: str) -> Dynamic | None:
    try:
        with machine.open(path) as file:
            return read_dynamic(file)
    except (OSError, NotElfError):
        return None
