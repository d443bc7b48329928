"""Where the dynamic loader looks for a library, in which order, without loading anything.

The order is that of ld.so(8), https://man7.org/linux/man-pages/man8/ld.so.8.html. Not followed here: DT_RPATH of the
libraries further up, glibc-hwcaps folders below a folder of the search, and LD_PRELOAD.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

import msgspec

Why = Literal["RPATH", "LD_LIBRARY_PATH", "RUNPATH", "cache", "default directory"]

# ld.so(8) names /lib and /usr/lib, or /lib64 and /usr/lib64. Debian and its kin search the multiarch folders first
# (`ld.so --help` lists them). A folder of another family does not exist, or holds libraries of another machine.
DEFAULT_DIRS = (
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
)
_TOKENS = ("$ORIGIN", "${ORIGIN}")


class LoaderStep(msgspec.Struct, frozen=True):
    """One step of the search: a folder, or the loader's cache, which has no folder.

    `is_empty_entry` marks the current directory where an empty entry of LD_LIBRARY_PATH names it by accident.
    """

    why: Why
    directory: str = ""
    cached: Mapping[str, tuple[str, ...]] = {}
    is_empty_entry: bool = False

    def paths(self, soname: str) -> tuple[str, ...]:
        """Return the files that the loader would try here for a soname."""
        if self.why == "cache":
            return self.cached.get(soname, ())
        return (os.path.join(self.directory, soname),)


class Resolved(msgspec.Struct, frozen=True):
    """A library that the search met, and what led there."""

    path: str
    why: Why
    is_empty_entry: bool = False


def search_order(
    ld_library_path: str,
    cache: Mapping[str, tuple[str, ...]],
    runpath: Iterable[str] = (),
    rpath: Iterable[str] = (),
    origin: str = "",
    default_dirs: Iterable[str] = DEFAULT_DIRS,
) -> tuple[LoaderStep, ...]:
    """Return the places that the loader searches, first one first.

    Args:
        ld_library_path: the variable's value; empty where it is not set.
        cache: what `ldcache.parse` gives.
        runpath: DT_RUNPATH's entries of the library or program that needs the other one.
        rpath: its DT_RPATH's entries, which count only where it has no DT_RUNPATH.
        origin: the folder of the file that holds `runpath` and `rpath`, for $ORIGIN. Entries with a token that is
            not known ($LIB, $PLATFORM, $ORIGIN without an origin) are left out.
        default_dirs: the folders built into the loader.
    """
    runpath = tuple(runpath)
    before = () if runpath else tuple(rpath)
    return (
        *(LoaderStep("RPATH", entry) for entry in _expand(before, origin)),
        *_library_path(ld_library_path),
        *(LoaderStep("RUNPATH", entry) for entry in _expand(runpath, origin)),
        LoaderStep("cache", cached=cache),
        *(LoaderStep("default directory", entry) for entry in default_dirs),
    )


def resolve(soname: str, order: Iterable[LoaderStep], exists: Callable[[str], bool]) -> Resolved | None:
    """Return the library that the loader would load, or None where it would find none.

    Args:
        soname: such as libcudart.so.12. The loader searches for no name with a slash in it, so none is found.
        order: what `search_order` gives.
        exists: tells whether there is a library of the right machine at a path.
    """
    return next(_found(soname, order, exists), None)


def all_copies(soname: str, order: Iterable[LoaderStep], exists: Callable[[str], bool]) -> list[Resolved]:
    """Return every copy in the loader's reach, the one that it would load first; a path appears once.

    Arguments as for `resolve`. Two paths may be one file behind links: that is for the caller to see.
    """
    copies: dict[str, Resolved] = {}
    for found in _found(soname, order, exists):
        copies.setdefault(found.path, found)
    return list(copies.values())


def _found(soname: str, order: Iterable[LoaderStep], exists: Callable[[str], bool]) -> Iterator[Resolved]:
    for place in () if "/" in soname else order:
        for path in place.paths(soname):
            if exists(path):
                yield Resolved(path, place.why, place.is_empty_entry)


def _library_path(value: str) -> Iterator[LoaderStep]:
    """Yield the folders of LD_LIBRARY_PATH; both ':' and ';' part them, and an empty one is the current directory."""
    for entry in value.replace(";", ":").split(":") if value else ():
        if not entry:
            yield LoaderStep("LD_LIBRARY_PATH", ".", is_empty_entry=True)
        elif "$" not in entry:
            yield LoaderStep("LD_LIBRARY_PATH", entry)


def _expand(entries: Iterable[str], origin: str) -> Iterator[str]:
    for entry in entries:
        for token in _TOKENS if origin else ():
            entry = entry.replace(token, origin)
        if "$" not in entry:
            yield entry or "."
