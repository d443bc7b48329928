"""Which libraries ask for an executable stack, where the loader has refused one of them over that."""

from collections.abc import Iterable

from gpudoctor.machine import Machine
from gpudoctor.parsers.elf import NotElfError, wants_executable_stack

# The text of _dl_map_object_from_fd and of open_elf in glibc, elf/dl-load.c.
REFUSED = "cannot enable executable stack"
# PyTorch has some forty; more would not be read by anybody.
_MOST = 400


def asking(machine: Machine, error: str | None, paths: Iterable[str]) -> tuple[str, ...]:
    """Those of some libraries that ask for an executable stack; none where an import failed over something else.

    Args:
        machine: where they are.
        error: that of the import.
        paths: the libraries.
    """
    if not error or REFUSED not in error:
        return ()
    return tuple(path for path in sorted(set(paths))[:_MOST] if _asks(machine, path))


def libraries_of(machine: Machine, location: str) -> Iterable[str]:
    """The libraries in a module's directory, in those right below it, and in the one that auditwheel makes."""
    for folder in (location, f"{location}.libs", *(f"{location}/{name}" for name in machine.names(location))):
        yield from (f"{folder}/{name}" for name in machine.names(folder) if ".so" in name)


def _asks(machine: Machine, path: str) -> bool:
    try:
        with machine.open(path) as file:
            return wants_executable_stack(file)
    except (OSError, NotElfError):
        return False
