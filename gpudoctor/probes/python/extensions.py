"""Compiled code of packages that compute on GPUs: what it needs and does not find."""

import os
from collections.abc import Iterator, Sequence

from gpudoctor.facts.python import Extension, MissingLibrary
from gpudoctor.knowledge import sonames
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.parsers.elf import Dynamic, NotElfError, rodata_string
from gpudoctor.probes.python.extension_search import (
    ExtensionSearch,
    InstalledTorch,
    dynamic_of,
    missing_versions,
    outdated_linker,
)
from gpudoctor.probes.python.gpu_packages import gpu_packages, needs_torch
from gpudoctor.probes.python.packages import DirectoryNames, FoundDistribution
from gpudoctor.queries.packages import stem

# vLLM and mmcv bring up to ten, bitsandbytes one for each CUDA release; hundreds would cost seconds.
_MOST_LIBRARIES = 32
# NVIDIA's own wheels whose libraries call nvJitLink; their metadata asks for no release of it:
# https://github.com/NVIDIA/raft/pull/2948
_LINKING = ("nvidia-cusparse", "nvidia-cusolver")
# libllama.so needs libggml.so, that libggml-cuda.so, and that CUDA's: deeper chains are not known.
_DEEPEST = 4

_TORCH = pattern(r"lib(?:c10|torch|caffe2)[a-z0-9_]*\.so")
# auditwheel puts a hash into the names of the libraries that it copies into a wheel.
_BUNDLED_CUDNN = pattern(r"libcudnn-[0-9a-f]{8}\.so\.(\d+)[\d.]*")
# The interpreter and the C library have these mapped already, whatever the loader would find.
_ALWAYS = pattern(r"libpython3|linux-vdso|ld-linux|lib(?:c|m|dl|rt|pthread)\.so")


def probe(
    machine: Machine, prefix: str, found: Sequence[FoundDistribution], names: DirectoryNames
) -> tuple[Extension, ...]:
    """Every library of the GPU packages that needs a library of PyTorch's or of a GPU vendor's, or lacks a version.

    Args:
        machine: where they are.
        prefix: the environment's, whose lib directory conda's Python searches.
        found: the installed distributions.
        names: the listings of directories.
    """
    packages = gpu_packages(machine, found, names)
    linking = [each for each in found if stem(each.package.name) in _LINKING]
    if not packages and not linking:
        return ()
    # By its files: an interrupted pip leaves them without the metadata.
    places = dict.fromkeys(f"{each.package.directory}/torch/lib" for each in found)
    place = next(filter(names.of, places), None)
    torch = InstalledTorch(machine, place, names) if place else None
    look = _Look(machine, ExtensionSearch(machine, prefix, [*found, *packages], torch), torch)
    return tuple(extension for each in (*packages, *linking) for extension in look.of(each))


class _Look:
    """Reads the libraries of packages."""

    def __init__(self, machine: Machine, search: ExtensionSearch, torch: InstalledTorch | None) -> None:
        self._machine, self._search, self._torch = machine, search, torch

    def of(self, found: FoundDistribution) -> Iterator[Extension]:
        """The libraries of one package that are worth a word."""
        package = found.package
        libraries = [f"{package.directory}/{claim}" for claim in found.claims if ".so" in claim]
        beside = needs_torch(found)
        for path in libraries[:_MOST_LIBRARIES]:
            dynamic = dynamic_of(self._machine, path)
            if dynamic and (one := self._extension(found, path, dynamic, beside)):
                yield one

    def _extension(self, found: FoundDistribution, path: str, dynamic: Dynamic, beside: bool) -> Extension | None:
        links = any(_TORCH.match(name) for name in dynamic.needed)
        torch = self._torch if links or beside else None
        mapped = torch.mapped if torch else frozenset()
        others = [n for n in dynamic.needed if n not in mapped and not _ALWAYS.match(n)]
        places = {name: self._search.find(name, dynamic, os.path.dirname(path)) for name in others}
        absent = (*self._absent(path, dynamic, mapped, 0), *self._opened(found, path, dynamic, mapped))
        versions = (
            *missing_versions(self._machine, self._search, path, dynamic),
            *outdated_linker(self._machine, self._search, path, dynamic),
        )
        if found.package.name.startswith("nvidia-") and not versions:
            return None  # checks of the frameworks' libraries judge the rest
        of_vendor = any(sonames.vendor_of(name) for name in dynamic.needed)
        if not (of_vendor or (links and torch) or absent or versions):
            return None
        near = [place.path for place in places.values() if place and place.why in ("RPATH", "RUNPATH")]
        return Extension(
            package=found.package.name,
            version=found.package.version,
            path=path,
            needed=dynamic.needed,
            missing=tuple(name for name, place in places.items() if place is None),
            unresolved=torch.lacks(path, near) if torch and links else (),
            absent=tuple({one.soname: one for one in reversed(absent)}.values()),
            versions=versions,
        )

    def _absent(self, path: str, dynamic: Dynamic, mapped: frozenset[str], depth: int) -> Iterator[MissingLibrary]:
        """The vendors' libraries that it, or a library of the environment that it needs, finds nowhere."""
        for name in dynamic.needed:
            if name in mapped or _ALWAYS.match(name):
                continue
            place = self._search.find(name, dynamic, os.path.dirname(path))
            if sonames.vendor_of(name):
                if place is None and not self._search.has(name):
                    yield MissingLibrary(soname=name, needed_by=os.path.basename(path))
            elif place and place.why in ("RPATH", "RUNPATH") and depth < _DEEPEST:
                further = dynamic_of(self._machine, place.path)
                if further:
                    yield from self._absent(place.path, further, mapped, depth + 1)

    def _opened(
        self, found: FoundDistribution, path: str, dynamic: Dynamic, mapped: frozenset[str]
    ) -> Iterator[MissingLibrary]:
        """Those that it opens by name, as a string in the file shows, and that are nowhere."""
        name = os.path.basename(path)
        for library in sonames.opened_by(found.package.name, name):
            soname = self._string(path, library)
            if not soname or soname in mapped or self._search.has(soname):
                continue
            if self._search.find(soname, dynamic, os.path.dirname(path)) is None:
                yield MissingLibrary(soname=soname, needed_by=name, opened=True)
        # It is in the wheel with a hash in its name, and what else the process has loaded of cuDNN is another's.
        bundled = _BUNDLED_CUDNN.fullmatch(name)
        part = sonames.first_part_of_cudnn(bundled[1]) if bundled else None
        whole = part and any(part.partition(".so")[0] in claim for claim in found.claims)
        if part and not whole and self._search.find(part, dynamic, os.path.dirname(path)) is None:
            yield MissingLibrary(soname=part, needed_by=name, opened=True, copy=self._search.copy(part))

    def _string(self, path: str, stem: str) -> str | None:
        try:
            with self._machine.open(path) as file:
                found = rodata_string(file, rb"(?<=[\0 ])" + stem.encode() + rb"\.so\.\d+(?=[\0 ])")
        except (OSError, NotElfError):
            return None
        return found.decode() if found else None
