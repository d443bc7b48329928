"""ROCm's HIP runtime outside of Python environments, and what it opens by name and does not find."""

import os
from collections.abc import Mapping, Sequence

from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers import ldcache, loader
from gpudoctor.parsers.elf import NotElfError, read_dynamic, rodata_string

_CACHE = "/etc/ld.so.cache"
_HIP = pattern(r"libamdhip64\.so\.\d+")
# HIP links to COMGR, AMD's code object manager, or since 7.0 opens it by name (clr, device/comgrctx.cpp).
_COMGR = "libamd_comgr.so"


def runtime(machine: Machine, rocm_path: str) -> tuple[Maybe[str | None], Maybe[tuple[str, ...]]]:
    """The HIP runtime of the installed ROCm (None: there is none), and the libraries that it lacks.

    Args:
        machine: the machine.
        rocm_path: ROCm's directory.
    """
    folders = [f"{rocm_path}/lib", f"{rocm_path}/lib64"]
    listed = {folder: machine.names(folder) for folder in folders}
    own = [f"{folder}/{name}" for folder, names in listed.items() for name in names if _HIP.fullmatch(name)]
    if own and any(name.startswith(_COMGR) for names in listed.values() for name in names):
        return own[0], ()  # the cache need not be read
    try:
        cache = ldcache.parse(machine.data(_CACHE), machine.architecture())
    except FileNotFoundError:
        cache = {}
    except (OSError, ValueError) as error:
        why = Unknown(f"{_CACHE}: {error}")
        return next(iter(own), why), why
    path = next(iter(own), None) or next((cache[name][0] for name in cache if _HIP.fullmatch(name)), None)
    return path, _lacks(machine, path, cache, folders) if path else ()


def _lacks(
    machine: Machine, path: str, cache: Mapping[str, tuple[str, ...]], folders: Sequence[str]
) -> Maybe[tuple[str, ...]]:
    """COMGR, where the runtime names it and the loader does not find it. Only then is its file searched."""
    variable = machine.env.get("LD_LIBRARY_PATH", "")
    if any(name.startswith(_COMGR) for name in cache):
        return ()
    try:
        with machine.open(path) as file:
            dynamic = read_dynamic(file)
            linked = next((name for name in dynamic.needed if name.startswith(_COMGR)), None)
            opened = None if linked else rodata_string(file, rb"(?<![\w./-])libamd_comgr\.so\.\d+")
    except (OSError, NotElfError) as error:
        return Unknown(f"{path}: {error}")
    soname = linked or (opened.decode() if opened else None)
    if soname is None:
        return ()
    order = loader.search_order(variable, cache, dynamic.runpath, dynamic.rpath, os.path.dirname(machine.real(path)))
    there = loader.resolve(soname, order, machine.exists) or any(machine.exists(f"{f}/{soname}") for f in folders)
    return () if there else (soname,)
