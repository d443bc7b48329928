"""What is installed for computing on GPUs, as the report shows it: toolkits, ROCm, and libraries such as cuDNN."""

import os
from collections.abc import Iterator

from gpudoctor.facts import DriverLibrary, Facts, Framework, Need
from gpudoctor.maybe import Maybe, Unknown, known_or
from gpudoctor.report.model import InstalledEntry, LibraryEntry

# Name for people, beginning of the file's name.
_CUDA = (("cuDNN", "libcudnn.so"), ("NCCL", "libnccl.so"))
_ROCM = (("RCCL", "librccl.so"),)


def toolkits(facts: Facts) -> tuple[InstalledEntry, ...] | None:
    """CUDA toolkits: first the one whose nvcc PATH finds, then the newest; None: nobody looked."""
    nvccs, home = known_or(facts.toolkits.nvccs, ()), facts.toolkits.home
    if isinstance(facts.toolkits.nvccs, Unknown) and isinstance(facts.toolkits.installed, Unknown):
        alone = isinstance(home.nvcc, str) and home.path
        return (InstalledEntry(path=home.path or "", version=known_or(home.nvcc, None), nvcc=True),) if alone else None
    installed = known_or(facts.toolkits.installed, ())
    versions = {folder: version or None for folder, version in installed}
    with_nvcc = {_home(nvcc.starts or nvcc.real): nvcc for nvcc in reversed(nvccs)}  # the first of a directory counts
    versions |= {folder: known_or(nvcc.version, None) or versions.get(folder) for folder, nvcc in with_nvcc.items()}
    on_path = next((_home(nvcc.starts or nvcc.real) for nvcc in nvccs if nvcc.on_path), None)
    named = facts.toolkits.home.found_by in ("CUDA_HOME", "CUDA_PATH") and facts.toolkits.home.path
    chosen = next(
        (folder for folder, nvcc in with_nvcc.items() if named and _home(nvcc.path) == named.rstrip("/")), named
    )
    found = [
        InstalledEntry(
            path=folder,
            version=version,
            nvcc=folder in with_nvcc if isinstance(facts.toolkits.nvccs, tuple) else None,
            on_path=folder == on_path,
            cuda_home=folder == chosen,
        )
        for folder, version in versions.items()
    ]
    return tuple(sorted(found, key=lambda one: (not one.on_path, [-number for number in _numbers(one.version)])))


def _home(nvcc: str) -> str:
    return os.path.dirname(os.path.dirname(nvcc))


def _numbers(version: str | None) -> list[int]:
    return [int(part) for part in (version or "0").split(".") if part.isdigit()]


def rocm_releases(facts: Facts) -> tuple[InstalledEntry, ...] | None:
    """Releases of ROCm, the chosen first; None: nobody looked."""
    found = facts.amd.rocm_releases
    if isinstance(found, Unknown):
        path = known_or(facts.amd.rocm_path, None)
        return (InstalledEntry(path=path, version=known_or(facts.amd.rocm, None)),) if path else None
    return tuple(InstalledEntry(path=path, version=version or None) for path, version in found)


def system_libraries(facts: Facts, name: str) -> tuple[InstalledEntry, ...] | None:
    """CuDNN or NCCL outside of Python environments, each version of a place once; None: nobody looked.

    Args:
        facts: what was found out.
        name: "cuDNN" or "NCCL".
    """
    libraries, headers = facts.toolkits.libraries, facts.toolkits.headers
    if isinstance(libraries, Unknown) and isinstance(headers, Unknown):
        return None
    of_headers = [header for header in known_or(headers, ()) if header.library == name]
    found: dict[str, InstalledEntry] = {}
    for one in known_or(libraries, ()):
        if one.soname.startswith(dict(_CUDA)[name]) and one.kind not in ("wheel", "stub"):
            # A file named libcudnn.so.9 alone is of the version that a header of 9.x names.
            version = known_or(one.version, None) or _major(one)
            same = (h.version for h in of_headers if version and f"{h.version}.".startswith(f"{version}."))
            whole = next(same, version)
            found.setdefault(whole or one.real, InstalledEntry(path=os.path.dirname(one.real), version=whole))
    for header in of_headers:
        found.setdefault(header.version, InstalledEntry(path=header.path, version=header.version))
    return tuple(found.values())


def _major(library: DriverLibrary) -> str | None:
    return library.soname.rpartition(".so.")[2] or None


def libraries(framework: Framework) -> tuple[LibraryEntry, ...] | None:
    """CuDNN and NCCL of a framework, RCCL in a build for ROCm; those that it does without are left out.

    None: which it needs is unknown.
    """
    if isinstance(framework.variant, Unknown):
        return None
    kinds = {"cuda": _CUDA, "rocm": _ROCM}.get(framework.variant, ())
    entries = (_library(framework, name, stem) for name, stem in kinds)
    return tuple(one for one in entries if one.loaded or one.built_for or one.installed)


def _library(framework: Framework, name: str, stem: str) -> LibraryEntry:
    need = next(_needed(framework, stem), None)
    return LibraryEntry(
        name=name,
        loaded=_loaded(framework, name, stem, need),
        built_for=known_or(framework.cudnn, None) if name == "cuDNN" else None,
        # ROCm's files have ROCm's release in their names: librccl.so.1.0.60304.
        installed=need.version if need and name != "RCCL" else None,
        path=need.path if need else None,
    )


def _needed(framework: Framework, stem: str) -> Iterator[Need]:
    needs: tuple[Need, ...] = (*known_or(framework.needs, ()), *known_or(framework.optional, ()))
    return (need for need in needs if need.soname.startswith(stem) and need.path is not None)


def _loaded(framework: Framework, name: str, stem: str, need: Need | None) -> str | None:
    """What the framework itself reports, else what the file that it has mapped is named or was installed as."""
    live = framework.live
    if live is None:
        return None
    reported: dict[str, Maybe[str | None]] = {"cuDNN": live.cudnn, "NCCL": live.nccl, "RCCL": live.nccl}
    if isinstance(said := reported.get(name), str):
        return said
    for path in known_or(live.libraries, ()):
        if os.path.basename(path).startswith(stem) and name != "RCCL":
            version = path.rpartition(".so.")[2]
            return version if version.count(".") >= 2 else _of_file(path, need)
    return None


def _of_file(path: str, need: Need | None) -> str | None:
    """The version of the file that was found before: only where it is the same."""
    if need is None or need.path is None or os.path.dirname(need.path) != os.path.dirname(path):
        return None
    return need.version
