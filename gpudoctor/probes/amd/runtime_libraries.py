"""What ROCm's runtimes outside of Python environments link to, and the loader does not find."""

import os
from collections.abc import Mapping

from gpudoctor.facts.amd import UnloadableLibrary
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers import ldcache, loader
from gpudoctor.parsers.elf import Dynamic, NotElfError, read_dynamic

HSA = "libhsa-runtime64.so.1"
_CACHE = "/etc/ld.so.cache"
# Below ROCm's directory, where its own libraries are; the last one is that of libraries which TheRock brings along.
_OWN = ("lib", "lib64", "lib/rocm_sysdeps/lib")


def unloadable(machine: Machine, rocm_path: str, hip: Maybe[str | None]) -> Maybe[tuple[UnloadableLibrary, ...]]:
    """Return those of the HSA and the HIP runtime that cannot be loaded, and the libraries that they miss.

    Args:
        machine: the machine.
        rocm_path: ROCm's directory.
        hip: path of the HIP runtime.
    """
    own = [f"{rocm_path}/{name}" for name in _OWN]
    paths = [f"{folder}/{HSA}" for folder in (*own, *loader.DEFAULT_DIRS) if machine.exists(f"{folder}/{HSA}")][:1]
    paths += [hip] if isinstance(hip, str) else []
    found = []
    for path in paths:
        try:
            with machine.open(path) as file:
                dynamic = read_dynamic(file)
            lacks = _lacks(machine, path, dynamic, own)
        except (OSError, ValueError, NotElfError) as error:
            return Unknown(f"{path}: {error}")
        if lacks:
            found.append(UnloadableLibrary(path=path, lacks=lacks))
    return tuple(found)


def _lacks(machine: Machine, path: str, dynamic: Dynamic, own: list[str]) -> tuple[str, ...]:
    """Those that are in no directory; only then the loader's cache is read, which has some of other places."""
    variable, origin = machine.env.get("LD_LIBRARY_PATH", ""), os.path.dirname(machine.real(path))

    def missing(names: tuple[str, ...], cache: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
        order = loader.search_order(variable, cache, dynamic.runpath, dynamic.rpath, origin)
        out = (name for name in names if loader.resolve(name, order, machine.exists) is None)
        return tuple(name for name in out if not any(machine.exists(f"{folder}/{name}") for folder in own))

    # The loader takes a name with a slash as a path.
    left = missing(tuple(name for name in dynamic.needed if "/" not in name), {})
    if not left:
        return ()
    try:
        cache = ldcache.parse(machine.data(_CACHE), machine.architecture())
    except FileNotFoundError:
        cache = {}
    return missing(left, cache)
