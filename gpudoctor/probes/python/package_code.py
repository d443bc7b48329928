"""The architectures that the GPU packages next to the frameworks have CUDA code for."""

from collections.abc import Sequence

from gpudoctor.facts.python import PackageCode
from gpudoctor.knowledge.sonames import library_of
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers.elf import NotElfError
from gpudoctor.parsers.fatbin import kernels
from gpudoctor.probes.python.gpu_packages import gpu_packages
from gpudoctor.probes.python.packages import DirectoryNames, FoundDistribution, text_of

# Code that is in files of its own, or is compiled when it is first needed: the libraries are not all there is.
_OTHER_CODE = pattern(r"(?m)^[^,\n]+\.(?:cubin|ptx|fatbin|cu|cuh),")
_MOST_LIBRARIES = 64  # bitsandbytes has a library for each release of CUDA


def probe(machine: Machine, found: Sequence[FoundDistribution], names: DirectoryNames) -> tuple[PackageCode, ...]:
    """Return the code of each package that has any, by the sections for it in its libraries.

    Args:
        machine: where they are.
        found: the installed distributions.
        names: the listings of directories.
    """
    packages = [one for one in gpu_packages(machine, found, names) if not one.package.name.startswith("nvidia-")]
    return tuple(code for one in packages if (code := _of(machine, one)))


def _of(machine: Machine, found: FoundDistribution) -> PackageCode | None:
    package = found.package
    libraries = [f"{package.directory}/{claim}" for claim in found.claims if ".so" in claim and not _is_nvidias(claim)]
    named, archs = "", dict[str, None]()
    why = Unknown("it has more libraries than were read") if libraries[_MOST_LIBRARIES:] else None
    for path in libraries[:_MOST_LIBRARIES]:
        try:
            with machine.open(path) as file:
                counts = kernels(file)
        except (OSError, NotElfError) as error:
            why = Unknown(f"{path}: {error}")
            continue
        named = named or (path if counts else "")
        archs |= dict.fromkeys(counts)
    if not named:
        return None
    if _OTHER_CODE.search(text_of(machine, f"{found.place}/RECORD")):
        why = Unknown("it has GPU code or sources of it in other files, too")
    code: Maybe[tuple[str, ...]] = why or tuple(archs)
    return PackageCode(package=package.name, version=package.version, path=named, archs=code)


def _is_nvidias(claim: str) -> bool:
    """Whether a wheel has only copied a library of the CUDA Toolkit, which has code for every GPU."""
    name = claim.rpartition("/")[2].partition(".")[0].partition("-")[0]  # repair tools put a hash into the name
    return name.startswith(("libnv", "libnpp")) or library_of(f"{name}.so") is not None
