"""Questions about compiled GPU packages, from facts alone: which load, and what the loader said of the others."""

from collections.abc import Iterable, Iterator
from posixpath import normpath

import msgspec

from gpudoctor.facts import Facts, JitKernel, MissingLibrary, PackageImport, Python
from gpudoctor.knowledge import system_libraries
from gpudoctor.knowledge.sonames import ffmpeg_of, vendor_of, wheel_of
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.extensions import has_fit_variant
from gpudoctor.queries.gpus import amd_gpus, nvidia_gpus
from gpudoctor.queries.intel import discrete
from gpudoctor.targets import built_for, cards_of, framework_name, gpus_of, has_dxg

# The words of glibc's loader: elf/dl-version.c, and elf/dl-load.c with strerror(ENOENT).
_VERSION = pattern(r"(/[^\s:]+): version [`']([^']+)' not found \(required by ([^)\n]+)\)")
# Level Zero's loader opens the NPU's driver, too (oneapi-src/level-zero#367), which no GPU needs.
_OTHERS = pattern(r"libze_intel_[nv]pu")
_WORDS = pattern(r"undefined symbol|cannot enable executable stack")
# A symbol in PyTorch's namespaces, mangled: probes.python.extension_search has the grammar.
_SYMBOL = pattern(
    r"([^\s:]+\.so[\w.]*): undefined symbol: (_Z(?:T[VTIS]|GV)?N[rVKRO]*(?:2at|3c10|5torch|6caffe2)[A-Z\d]\w*)"
)
# CUDA's own error at its start, which no library that is missing next to it explains.
NO_CUDA = pattern(r"\bcuInit\b|CUDA_ERROR_NO_DEVICE|no CUDA-capable device")
# glibc's words, elf/dl-lookup.c. The functions of CUDA's driver begin with cu and a capital, and have no version.
_OF_DRIVER = pattern(r"undefined symbol: (cu[A-Z]\w+)(?!\w|, version)")
_OF_LIBRARY = pattern(r"undefined symbol: (?!__nvJitLink)(\w+), version (lib\w+\.so[.\d]*)")
_LIBRARY = pattern(r"(lib[\w.+-]+\.so[\w.]*): cannot open shared object file")


class LackedSymbol(msgspec.Struct, frozen=True):
    """A function that the loader did not find, and the library that is too old for it: libcuda.so.1 is the driver's."""

    symbol: str
    library: str

    @property
    def of_driver(self) -> bool:
        """Whether it is a function of the driver."""
        return self.library == "libcuda.so.1"


class OldCopy(msgspec.Struct, frozen=True):
    """A library that the loader took and that lacks a symbol version which another one needs."""

    who: str  # "flash-attn 2.8.2", "PyTorch 2.8.0+xpu"
    version: str  # "GLIBC_2.32"
    path: str  # the copy
    needed_by: str
    newest: str = ""
    error: str = ""
    opened: bool = False  # the framework imports, and opens what needs it when it looks for GPUs


def imports_of(python: Python) -> tuple[PackageImport, ...]:
    """What the GPU packages did when they were imported; none where that is unknown. For texts and hints."""
    return known_or(python.imports, ())


def import_of(python: Python, package: str) -> PackageImport | None:
    """What a package did when it was imported; None where it was not."""
    return next((one for one in imports_of(python) if one.package == package), None)


def was_imported(python: Python, package: str) -> bool:
    """Whether a package is known to import without an error."""
    one = import_of(python, package)
    return one is not None and one.error is None and not one.hung and one.died is None


def failures(python: Python) -> tuple[tuple[PackageImport, str], ...]:
    """The packages whose import raises, each with its error."""
    return tuple((one, one.error) for one in imports_of(python) if isinstance(one.error, str))


def know_all(python: Python) -> None:
    """End a check as unknown where a package was not imported, so that nobody can say that all load.

    Raises:
        UnknownFactError: with the reason.
    """
    for one in known(python.imports):
        if not one.dependent:
            known(one.error)


def old_copies(facts: Facts, python: Python) -> tuple[OldCopy, ...]:
    """The libraries in an older release than something needs, from the loader's words and from the files.

    From files alone only for glibc, of which a process has one copy, and nvJitLink: another libstdc++ may be loaded
    before.
    """
    found = [*_in_words(facts, python), *_in_files(python)]
    return tuple({(one.who, one.version): one for one in reversed(found)}.values())[::-1]


def _in_words(facts: Facts, python: Python) -> Iterator[OldCopy]:
    for framework in python.frameworks:
        live = framework.live
        if live and live.import_error:
            yield from _read(framework_name(framework), live.import_error)
        elif live and live.available is False and _may_use(facts, built_for(framework)):
            copies = _read(framework_name(framework), live.stderr, opened=True)
            yield from (one for one in copies if not _OTHERS.search(one.needed_by))
    for one, error in failures(python):
        yield from _read(f"{one.package} {one.version}", error)


def _read(who: str, error: str, *, opened: bool = False) -> Iterator[OldCopy]:
    for match in _VERSION.finditer(error):
        yield OldCopy(who, match[2], normpath(match[1]), match[3], error=match[0], opened=opened)


def _may_use(facts: Facts, vendor: str | None) -> bool:
    """Whether the machine has a GPU of the vendor, or is a Windows host's guest that may have one."""
    return vendor is not None and bool(cards_of(facts, vendor) or gpus_of(facts, vendor) or has_dxg(facts))


def _in_files(python: Python) -> Iterator[OldCopy]:
    # A framework that sees the GPU has loaded CUDA's libraries, in whatever order it does that.
    works = any(f.live and f.live.import_error is None and f.live.available is True for f in python.frameworks)
    kinds = ("GLIBC_",) if works else ("GLIBC_", "__nvJitLink")
    for extension in known_or(python.extensions, ()):
        for gap in extension.versions:
            if gap.version.startswith(kinds) and not was_imported(python, extension.package):
                who = f"{extension.package} {extension.version}"
                yield OldCopy(who, gap.version, gap.path, extension.path, gap.newest)


def torch_symbol_in(error: str) -> tuple[str, str] | None:
    """The file and the symbol of PyTorch that the loader did not find for it, as an error names them."""
    found = _SYMBOL.search(error)
    return (found[1], found[2]) if found else None


def lacked_symbol(error: str) -> LackedSymbol | None:
    """What the loader missed in the driver or in one of CUDA's libraries; None: it missed nothing there."""
    if found := _OF_DRIVER.search(error):
        return LackedSymbol(found[1], "libcuda.so.1")
    found = _OF_LIBRARY.search(error)
    return LackedSymbol(found[1], found[2]) if found and wheel_of(found[2]) else None


def missing_in_words(error: str) -> tuple[str, ...]:
    """The libraries that the loader did not find, as an error names them: "libcudart.so.13"."""
    return decisive(_LIBRARY.findall(error))


def decisive(libraries: Iterable[str]) -> tuple[str, ...]:
    """The libraries without FFmpeg's, where others are missing too: those of the releases that are not here always are.

    torchcodec has a library for each release of FFmpeg, and loads the one that fits.
    """
    found = tuple(dict.fromkeys(libraries))
    return tuple(name for name in found if ffmpeg_of(name) is None) or found


def lacks_driver_library(error: str) -> bool:
    """Whether the loader did not find a library that only the NVIDIA driver brings: no package can."""
    return any(map(system_libraries.capability_of, missing_in_words(error)))


def is_native(error: str) -> bool:
    """Whether an error is of the loader: a library, a symbol or a version is missing, or a stack is refused."""
    return bool(_VERSION.search(error) or _LIBRARY.search(error) or _WORDS.search(error))


def missing_for(facts: Facts, python: Python, package: str) -> tuple[MissingLibrary, ...]:
    """The libraries of this machine's GPU vendors that no variant of a package's libraries can do without and lacks.

    A package may bring a library for each CUDA release or each vendor, and loads the one that fits.
    """
    found, every = [], known(python.extensions)
    for extension in every:
        if extension.package == package and not has_fit_variant(every, extension):
            found += [one for one in extension.absent if _is_here(facts, vendor_of(one.soname))]
    return tuple({one.soname: one for one in reversed(found)}.values())[::-1]


def _is_here(facts: Facts, vendor: str | None) -> bool:
    here = {"nvidia": nvidia_gpus, "amd": amd_gpus, "intel": discrete}
    return vendor in here and bool(here[vendor](facts))


def broken_kernels(python: Python) -> tuple[JitKernel, ...]:
    """The cached kernels that need a library which nothing here has."""
    return tuple(kernel for kernel in python.kernels if kernel.missing)


def stale_locks(python: Python) -> tuple[JitKernel, ...]:
    """The builds that were killed: their lock is there, and no process has it open.

    Raises:
        UnknownFactError: whether a process has it open could not be seen.
    """
    return tuple(kernel for kernel in python.kernels if kernel.lock and known(kernel.holder) is None)
