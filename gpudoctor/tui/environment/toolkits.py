"""CUDA and ROCm on this machine in words: toolkits, compilers, and the driver's libraries as programs find them."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts import DriverLibrary, Facts
from gpudoctor.maybe import Maybe, Unknown, phrase
from gpudoctor.report.installed import rocm_releases, system_libraries
from gpudoctor.tui.environment.described import GAP, known
from gpudoctor.tui.environment.lines import LabeledLine


def toolkits(facts: Facts) -> list[LabeledLine]:
    """All lines about what CUDA and ROCm there is outside the interpreters."""
    return [
        LabeledLine("", "CUDA toolkits", "heading"),
        *_nvccs(facts),
        *_home(facts),
        *_compiler(facts),
        *_headers(facts),
        GAP,
        LabeledLine("", "CUDA libraries that the loader finds", "heading"),
        *_copies(facts.toolkits.libraries, None),
        GAP,
        LabeledLine("", "The driver's libraries", "heading"),
        *_copies(facts.nvidia.cuda.libraries, facts.nvidia.cuda.loaded),
        *_copies(facts.nvidia.nvml.libraries, facts.nvidia.nvml.loaded),
        *_rocm(facts),
    ]


def _nvccs(facts: Facts) -> Iterator[LabeledLine]:
    installed = facts.toolkits.installed
    if isinstance(installed, Unknown):
        yield known("installed", installed)
    else:
        yield from (LabeledLine("installed", f"{folder}, CUDA {version}") for folder, version in installed)
        yield from (LabeledLine("installed", "none under /usr/local", "dim") for _ in [0] if not installed)
    nvccs = facts.toolkits.nvccs
    if isinstance(nvccs, Unknown):
        yield known("nvcc", nvccs)
        return
    for one in nvccs:
        version = one.version if isinstance(one.version, str) else "version unknown"
        real = f" -> {one.real}" if one.real != one.path else ""
        real = f" starts {one.starts}" if one.starts else real
        yield LabeledLine("nvcc", f"{one.path}{real}, {version}" + (", on PATH" if one.on_path else ""))


def _headers(facts: Facts) -> Iterator[LabeledLine]:
    """CuDNN and NCCL outside of Python environments."""
    for name in ("cuDNN", "NCCL"):
        found = system_libraries(facts, name) or ()
        yield from (LabeledLine(name, f"{one.version or 'version unknown'}, {one.path}") for one in found)


def _home(facts: Facts) -> Iterator[LabeledLine]:
    home = facts.toolkits.home
    if home.path is None:
        yield LabeledLine("CUDA_HOME", "not found by build tools", "dim")
        return
    missing = [
        name for name, there in (("no such directory", home.exists), ("no headers", home.headers)) if there is False
    ]
    missing += ["no nvcc"] if home.nvcc is None else []
    nvcc = f"nvcc {home.nvcc}" if isinstance(home.nvcc, str) else ""
    text = ", ".join(
        part for part in (home.path, f"by {home.found_by}" if home.found_by else "", nvcc, *missing) if part
    )
    yield LabeledLine("CUDA_HOME", text, "warn" if missing else "")


def _compiler(facts: Facts) -> Iterator[LabeledLine]:
    cxx, version = facts.toolkits.cxx, facts.toolkits.cxx_version
    both = phrase("{}, {}", cxx, version)
    yield LabeledLine("compiler", both) if both else known("compiler", cxx)


def _copies(libraries: Maybe[tuple[DriverLibrary, ...]], loaded: Maybe[str | None]) -> Iterator[LabeledLine]:
    """Each library, the copy that wins first."""
    if isinstance(libraries, Unknown):
        yield known("libraries", libraries)
        return
    if not libraries and loaded is None:
        yield LabeledLine("", "none", "dim")
    seen: set[str] = set()
    for one in libraries:
        first = one.soname not in seen
        seen.add(one.soname)
        version = one.version if isinstance(one.version, str) else ""
        parts = [
            version,
            f"by {one.found_by}" if one.found_by else "",
            one.kind,
            "loaded" if one.real == loaded else "",
        ]
        if first:
            yield LabeledLine(one.soname, ", ".join(part for part in parts if part))
        yield LabeledLine("  used" if first else "  hidden", _linked(one), "" if first else "dim")


def _linked(one: DriverLibrary) -> str:
    return one.path if one.real == one.path else f"{one.path} -> {one.real}"


def _rocm(facts: Facts) -> Iterator[LabeledLine]:
    if not isinstance(facts.amd.rocm, str) and not isinstance(facts.amd.rocm_path, str):
        return
    yield GAP
    yield LabeledLine("", "ROCm", "heading")
    yield known("release", facts.amd.rocm)
    yield known("location", facts.amd.rocm_path)
    others = [one for one in rocm_releases(facts) or () if one.version != facts.amd.rocm]
    yield from (LabeledLine("also", f"{one.version or 'version unknown'}, {one.path}") for one in others)
