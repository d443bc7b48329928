"""librocdxg.so, ROCm's way through /dev/dxg: where it is, and whether the loader looks there."""

from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers import ldcache, loader

_NAME = "librocdxg.so"  # as the HSA runtime opens it
_CACHE = "/etc/ld.so.cache"


def folders(machine: Machine, rocm_path: Maybe[str | None]) -> list[str]:
    """Return the directories with librocdxg.so: ROCm's own, where it is installed, and the loader's.

    Args:
        machine: the machine.
        rocm_path: ROCm's directory.
    """
    own = [f"{rocm_path}/lib"] if isinstance(rocm_path, str) else []
    looked = [*own, "/opt/rocm/lib", "/usr/lib", "/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64"]
    looked += [folder for folder in machine.env.get("LD_LIBRARY_PATH", "").split(":") if folder.startswith("/")]
    return [folder for folder in dict.fromkeys(looked) if machine.exists(f"{folder}/{_NAME}")]


def off_path(machine: Machine, rocm_path: Maybe[str | None]) -> Maybe[str | None]:
    """Return its directory where the loader finds no copy; None where it finds one, or where there is none.

    The HSA runtime opens it by name (https://github.com/ROCm/librocdxg/issues/46): one in a wheel finds what is in the
    loader's reach, and only the one in ROCm's own directory what is next to it.
    """
    there = folders(machine, rocm_path)
    if not there:
        return None
    try:
        cache = ldcache.parse(machine.data(_CACHE), machine.architecture())
    except FileNotFoundError:
        cache = {}
    except (OSError, ValueError) as error:
        return Unknown(f"{_CACHE}: {error}")
    order = loader.search_order(machine.env.get("LD_LIBRARY_PATH", ""), cache)
    return None if loader.resolve(_NAME, order, machine.exists) else there[0]
