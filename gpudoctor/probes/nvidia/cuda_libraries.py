"""CUDA's libraries outside the Python environment: those that the dynamic loader's settings lead to."""

import os
from collections.abc import Iterator

from gpudoctor.facts import DriverLibrary
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers import ldcache

_CACHE = "/etc/ld.so.cache"
_WANTED = pattern(
    r"lib(?:cudart|cublas|cublasLt|cudnn\w*|nccl|nvrtc|cufft|curand|cusolver|cusparse|nvJitLink|cupti)\.so[\d.]*"
)
_VERSION = pattern(r"\.so\.(\d+(?:\.\d+)*)$")
_TOOLKIT = pattern(r"/cuda[^/]*/|/hpc_sdk/|/nvidia-cuda-toolkit/")
_WHEEL = pattern(r"/(?:site|dist)-packages/")
# A path of more folders, or folders of more files, is a mistake that must not cost seconds.
_MOST_FOLDERS = 64
_MOST_NAMES = 20_000


def probe(machine: Machine) -> Maybe[tuple[DriverLibrary, ...]]:
    """Return the libraries in the loader's order: LD_LIBRARY_PATH, then /etc/ld.so.cache.

    Two files of one soname are both there, the one that the loader takes first.
    """
    found: dict[tuple[str, str], DriverLibrary] = {}
    for soname, path in _in_folders(machine):
        found.setdefault((soname, path), _library(machine, soname, path, "LD_LIBRARY_PATH"))
    try:
        cache = ldcache.parse(machine.data(_CACHE), machine.architecture())
    except FileNotFoundError:  # musl has none
        return tuple(found.values())
    except (OSError, ValueError) as error:
        return tuple(found.values()) or Unknown(f"{_CACHE}: {error}")
    for soname in filter(_WANTED.fullmatch, cache):
        for path in cache[soname]:
            found.setdefault((soname, path), _library(machine, soname, path, "cache"))
    return tuple(found.values())


def _in_folders(machine: Machine) -> Iterator[tuple[str, str]]:
    """Yield (soname, path); libX.so.12.4.5 is left out where libX.so.12 is there, since nobody asks for it."""
    folders = machine.env.get("LD_LIBRARY_PATH", "").replace(";", ":").split(":")
    left = _MOST_NAMES
    for folder in list(dict.fromkeys(f for f in folders if f.startswith("/")))[:_MOST_FOLDERS]:
        names = machine.names(folder)[: max(left, 0)]
        left -= len(names)
        wanted = [name for name in names if _WANTED.fullmatch(name)]
        for name in wanted:
            if not any(name.startswith(f"{other}.") and other[-1].isdigit() for other in wanted):
                yield name, f"{folder.rstrip('/')}/{name}"


def _library(machine: Machine, soname: str, path: str, why: str) -> DriverLibrary:
    real = machine.real(path)
    version = _VERSION.search(real) or _VERSION.search(path)
    status = machine.status(path)
    return DriverLibrary(
        soname=soname,
        path=path,
        real=real,
        version=version[1] if version else Unknown(f"the name {os.path.basename(real)} contains no version"),
        found_by=why,
        kind=_kind(path, real),
        size=status.size if status else None,
    )


def _kind(path: str, real: str) -> str:
    both = f"{path} {real}"
    if "/stubs/" in both:
        return "stub"
    if _WHEEL.search(both):
        return "wheel"
    return "toolkit" if _TOOLKIT.search(both) else "system"
