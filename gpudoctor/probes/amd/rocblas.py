"""The rocBLAS of the system, ROCm's or the distribution's: its directory, and for which targets it has kernels."""

from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers.rocblas import targets
from gpudoctor.probes.amd import rocm

# Fedora, openSUSE; Debian, Ubuntu; others
_DISTRIBUTIONS = ("/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib")


def kernels(machine: Machine) -> tuple[Maybe[str | None], Maybe[tuple[str, ...]]]:
    """Return the directory with the files of the first rocBLAS (None: there is none), and the targets of all.

    Several releases may be installed, and each program loads that of its own: what one of them has is not missing.
    """
    found: dict[str, tuple[str, ...]] = {}
    for folder in _folders(machine):
        real = machine.real(folder)
        if real in found or not machine.exists(folder):
            continue
        names = machine.listed(folder)
        if names is None:
            unread = Unknown(f"{folder} cannot be read")
            return unread, unread
        if named := targets(names):
            found[real] = named
    first = next(iter(found), None)
    return first, tuple(sorted({target for named in found.values() for target in named}))


def _folders(machine: Machine) -> list[str]:
    own = [folder for folder in machine.env.get("LD_LIBRARY_PATH", "").split(":") if folder.startswith("/")]
    rocms = [f"{folder}/{lib}" for folder in rocm.folders(machine) for lib in ("lib", "lib64")]
    found = [f"{folder.rstrip('/')}/rocblas" for folder in (*own, *rocms, *_DISTRIBUTIONS)]
    versions = (f"{folder}/{name}" for folder in found for name in machine.names(folder) if name[:1].isdigit())
    return [f"{folder}/library" for folder in (*found, *versions)]
