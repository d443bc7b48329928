"""How CUDA's shared libraries are called in each CUDA major, and which wheels bring them."""

from functools import cache

import msgspec

from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.table import KnowledgeTable, load


class WheelLibrary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A library: the wheel that brings it without -cuNN, its folder under nvidia/, its soname by CUDA major."""

    wheel: str
    folder: str
    soname: dict[str, str] = {}


class OpenedByName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Libraries that a package's own library opens by name when they are first used."""

    package: str
    library: str  # how the name of the file begins
    opens: tuple[str, ...]  # without ".so" and the version


class NotAtImport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Libraries that a package, from a release on, loads only where they are used, and for what."""

    libraries: frozenset[str]  # without ".so" and the version
    since: str
    torch: str  # the first that these releases are for
    use: str


class Rocm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """ROCm's libraries: the first release with each major of some, and majors for which a link does."""

    libraries: frozenset[str]
    since: dict[str, dict[str, str]]
    same: dict[str, tuple[str, ...]]


class OneApi(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Intel's libraries, and which wheels bring those of the SYCL runtime."""

    libraries: frozenset[str]
    wheels: dict[str, str]


class Since(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"but": "except"}):
    """Releases from the first one on, but for some minor releases."""

    first: str
    but: tuple[str, ...] = ()


class Ffmpeg(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Releases of FFmpeg: by library and its major version, and by distribution ("ubuntu 22.04")."""

    releases: dict[str, dict[str, str]]
    distributions: dict[str, str]


class Sonames(KnowledgeTable, frozen=True):
    """The table ``sonames.toml``."""

    opened: dict[str, tuple[str, ...]]
    tensorflow_wheels: Since
    cupy_wheels: Since
    library: dict[str, WheelLibrary]
    by_name: tuple[OpenedByName, ...]
    late: dict[str, str]
    not_at_import: dict[str, NotAtImport]
    cudnn_part: dict[str, str]
    gcc: dict[str, str]
    ffmpeg: Ffmpeg
    rocm: Rocm
    oneapi: OneApi


@cache
def sonames() -> Sonames:
    """Return the table, read once."""
    return load("sonames", Sonames)


def opened(framework: str, cuda_major: str, cudnn_major: str | None) -> tuple[str, ...]:
    """Return the sonames that a framework opens by name, in its order.

    Args:
        framework: its import name.
        cuda_major: "12".
        cudnn_major: "9"; None: it needs no cuDNN, or nobody knows which.
    """
    found = (soname_of(stem, cuda_major, cudnn_major) for stem in sonames().opened.get(framework, ()))
    return tuple(name for name in found if name)


def soname_of(stem: str, cuda_major: str, cudnn_major: str | None = None) -> str | None:
    """Return the name of a library ("libcublas") in a CUDA major, or None where it has none there."""
    row = sonames().library.get(stem)
    if row is None:
        return None
    if not row.soname:
        return f"{stem}.so.{cudnn_major}" if cudnn_major else None
    return row.soname.get(cuda_major)


def library_of(soname: str) -> WheelLibrary | None:
    """Return the library of a soname; `libcudnn_ops.so.9` and `libcudart-d0da41ae.so.11.0` have theirs too."""
    stem = soname.partition(".so")[0].partition("-")[0]
    table = sonames().library
    return table["libcudnn"] if stem.startswith("libcudnn_") else table.get(stem)


def opened_by(package: str, file: str) -> tuple[str, ...]:
    """Return the libraries that a file of a package opens by name, without their versions."""
    rows = (r for r in sonames().by_name if r.package == package and file.startswith(r.library))
    return tuple(stem for row in rows for stem in row.opens)


def not_at_import(package: str, missing: tuple[str, ...]) -> NotAtImport | None:
    """Return from which release on a package is imported without these libraries; None: no table names one."""
    row = sonames().not_at_import.get(package)
    return row if row and missing and {name.partition(".so")[0] for name in missing} <= row.libraries else None


def first_part_of_cudnn(major: str) -> str | None:
    """Return the library that cuDNN's main library opens first, by name; None where no table has that major."""
    return sonames().cudnn_part.get(major)


def opened_late(wheel: str) -> tuple[str, str] | None:
    """Return the library of a wheel (without -cu12) that frameworks open on first use, and what fails without it."""
    table = sonames()
    return next(((stem, fails) for stem, fails in table.late.items() if table.library[stem].wheel == wheel), None)


def vendor_of(soname: str) -> str | None:
    """Return whose GPUs a library is for: "nvidia", "amd", "intel"; None where it is for none in particular."""
    if library_of(soname):
        return "nvidia"
    stem, table = soname.partition(".so")[0], sonames()
    return "amd" if stem in table.rocm.libraries else "intel" if stem in table.oneapi.libraries else None


def oneapi_wheel_of(path: str) -> str | None:
    """Return the wheel that brings a library of the SYCL runtime: "intel-sycl-rt" for ".../libsycl.so.8"; else None."""
    return sonames().oneapi.wheels.get(path.rpartition("/")[2].partition(".so")[0])


def rocm_releases_of(soname: str) -> tuple[str, str | None] | None:
    """Return the first ROCm release with a library of this name and the first without: ("6.0", "6.2"), or None.

    No end is None; a library of which the table has no majors has neither.
    """
    stem, _, number = soname.partition(".so.")
    rows = sonames().rocm.since.get(stem, {})
    major = number.partition(".")[0]
    if major not in rows:
        return None
    later = [first for first in rows.values() if version(first) > version(rows[major])]
    return rows[major], min(later, key=version, default=None)


def rocm_soname_in(soname: str, release: str) -> str | None:
    """Return what a library is called in a ROCm release: "librocm_smi64.so.7" in 6.3.1; None where unknown."""
    stem = soname.partition(".so.")[0]
    rows = sonames().rocm.since.get(stem, {})
    fits = [major for major, first in rows.items() if version(first) <= version(release)]
    return f"{stem}.so.{max(fits, key=int)}" if fits else None


def rocm_link_for(soname: str, release: str) -> str | None:
    """Return the library of a ROCm release to which a link serves in place of one; None where that is not known."""
    there, same = rocm_soname_in(soname, release), sonames().rocm.same.get(soname.partition(".so.")[0], ())
    majors = {name.partition(".so.")[2] for name in (there, soname) if name}
    return there if there and there != soname and majors <= set(same) else None


def majors_of(soname: str) -> tuple[str, ...]:
    """Return the CUDA majors in which a library has this name: ("12",) for "libcudart.so.12"."""
    row = library_of(soname)
    return tuple(cuda for cuda, name in row.soname.items() if name == soname) if row else ()


def wheel_of(soname: str) -> tuple[str, str] | None:
    """Return the wheel that brings a library, and its directory below nvidia/; None where no wheel is known to."""
    row, majors = library_of(soname), majors_of(soname)
    if row is None or len(majors) != 1:
        return None
    (cuda,) = majors
    return (f"{row.wheel}-cu{cuda}", f"{row.folder}/lib") if int(cuda) < 13 else (f"{row.wheel}=={cuda}.*", "cu13/lib")


def ffmpeg_of(soname: str) -> str | None:
    """Return the release of FFmpeg that a library is of: "4" for "libavutil.so.56"; None for other libraries."""
    stem, _, number = soname.partition(".so.")
    return sonames().ffmpeg.releases.get(stem, {}).get(number.partition(".")[0])


def stems_of(wheel: str) -> tuple[str, ...]:
    """Return the libraries of a wheel: "nvidia-cublas-cu12" brings libcublas and libcublasLt."""
    return tuple(stem for stem, row in sonames().library.items() if wheel in (row.wheel, *_tagged(row.wheel)))


def finds_wheels(framework: str, number: str) -> bool:
    """Whether this release of tensorflow or cupy looks into the nvidia wheels by itself."""
    table = {"tensorflow": sonames().tensorflow_wheels, "cupy": sonames().cupy_wheels}[framework]
    minor = ".".join(number.split(".")[:2])
    return version(minor) >= version(table.first) and minor not in table.but


def _tagged(wheel: str) -> tuple[str, ...]:
    return tuple(f"{wheel}-cu{major}" for major in (11, 12, 13))
