"""Packages built for a CUDA major version that the driver does not support."""

import re

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Package
from gpudoctor.fixes.cuda import newer_driver
from gpudoctor.fixes.python import install, lasting, uninstall
from gpudoctor.knowledge.python_rules import cuda_in_name
from gpudoctor.knowledge.sonames import majors_of
from gpudoctor.knowledge.wanted import is_extension
from gpudoctor.maybe import known, known_or, present
from gpudoctor.parsers.metadata import is_optional
from gpudoctor.queries.cause_groups import CUDA_SYSTEM
from gpudoctor.queries.driver import driver_cuda, driver_runs, driver_words
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.loading import missing_for
from gpudoctor.queries.packages import and_more, major, package, packages_of
from gpudoctor.targets import ANY_GPU, OnPython, pythons

# Its release is that of the CUDA runtime that cuda.bindings.runtime is linked with, statically:
# https://nvidia.github.io/cuda-python/cuda-bindings/latest/release/13.0.3-notes.html
_BINDINGS = "cuda-bindings"
_LINKED = ""  # in place of a stem, where the libraries of a package name the CUDA major, and its name does not


def _unsupported(on: OnPython) -> list[tuple[Package, str, str]]:
    """The packages, each with stem and CUDA major, that are named after a newer major than the driver's.

    The bindings, whose version names it, come last.
    """
    named = [(p, *found) for p in packages_of(on.python) if (found := cuda_in_name(p.name))]
    bindings = package(on.python, _BINDINGS)
    if bindings and (cuda := major(bindings.version)):
        named.append((bindings, _BINDINGS, str(cuda)))
    named += _linked(on, {p.name for p, _, _ in named})
    driver = known(driver_cuda(on.facts)) if named else None
    return [(p, stem, cuda) for p, stem, cuda in named if driver and not driver_runs(cuda, driver)]


def _linked(on: OnPython, named: set[str]) -> list[tuple[Package, str, str]]:
    """The packages whose libraries need those of a CUDA major that is not here: ctranslate2 opens libcublas.so.12.

    An extension of PyTorch has a build for each of PyTorch's: that one is the wrong one, whatever the driver runs.
    """
    found = []
    every = dict.fromkeys(one.package for one in known_or(on.python.extensions, ()))
    for name in (name for name in every if name not in named and not is_extension(name)):
        majors = {cuda for one in missing_for(on.facts, on.python, name) for cuda in majors_of(one.soname)}
        there = package(on.python, name)
        if there is not None and len(majors) == 1:
            found.append((there, _LINKED, majors.pop()))
    return found


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    unsupported, ours = _unsupported(on), major(present(driver_cuda(on.facts))) or 12
    newer = newer_driver(on.facts, f"{unsupported[0][2]}.0")
    if unsupported[0][1] == _LINKED:
        return newer
    if unsupported[0][1] == _BINDINGS:
        return _older_bindings(on, ours, unsupported[0][2]) or newer
    unsupported = [row for row in unsupported if row[1] not in (_BINDINGS, _LINKED)]  # the other builds bring their own
    names, stems = [p.name for p, _, _ in unsupported], [stem for _, stem, _ in unsupported]
    asked = [stem for stem in stems if not stem.startswith("lib")] or stems  # the libraries come with them
    instead = (f"{stem}-cuda{ours}0" if stem == "nvidia-dali" else f"{stem}-cu{ours}" for stem in asked)
    message = f"Replace {' and '.join(names[:4])} with the build for CUDA {ours}.{lasting(on.facts)}"
    commands = (uninstall(on.python, *names), install(on.python, *instead))
    return (Fix(message, commands, "reinstall-package"), *newer)


def _older_bindings(on: OnPython, ours: int, theirs: str) -> tuple[Fix, ...]:
    """Install the bindings of the driver's major, unless another package requires the newer ones."""
    names = ("cuda-python", _BINDINGS)
    wanted = re.compile(rf"(?:{'|'.join(names)})\b[^;]*[>=~]=?\s*{theirs}\b")
    others = (p for p in packages_of(on.python) if p.name not in names)
    if any(wanted.match(line) and not is_optional(line) for p in others for line in p.requires):
        return ()
    name = next(name for name in names if package(on.python, name))
    spec = f"{name}>={ours},<{ours + 1}"
    message = f"Install {spec}, the bindings for the driver's CUDA major.{lasting(on.facts)}"
    return (Fix(message, (install(on.python, spec),), "reinstall-package"),)


@check(
    title="NVIDIA driver is too old for a package's CUDA version",
    severity=Severity.ERROR,
    cause="These packages have one build per CUDA major version, which is the suffix of their name, or the major of "
    "cuda-bindings, which contains the CUDA runtime; a driver supports its own major and older ones: 'CUDA driver "
    "version is insufficient for CUDA runtime version' (cudaErrorInsufficientDriver).",
    fixes=_fixes,
    references=(
        "https://docs.rapids.ai/platform-support",
        "https://github.com/NVIDIA/cutlass/issues/2804",
        "https://nvidia.github.io/cuda-python/cuda-bindings/latest/install.html",
        "https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html",
    ),
    targets=pythons,
    only_with=(f"{ANY_GPU} pythons.packages?",),
    caused_by=(*CUDA_SYSTEM, "pytorch.driver-too-old"),
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
    read_from_files=True,
)
def driver_too_old(on: OnPython) -> Problem | None:
    """A package is named for a newer CUDA major than the driver's, contains its runtime, or needs its libraries."""
    known(on.python.packages)
    if not nvidia_gpus(on.facts):
        return None
    unsupported = _unsupported(on)
    if not unsupported:
        return None
    first, stem, cuda = unsupported[0]
    driver = f"the {driver_words(on.facts)} is too old{and_more(unsupported)}"
    message = f"{first.name} {first.version} is built for CUDA {cuda}; {driver}."
    severity = Severity.WARNING if stem == _BINDINGS else None  # those who call only the driver's functions run
    return Problem(
        message,
        tuple(f"{p.name} {p.version}" for p, _, _ in unsupported[:5]),
        severity=severity,
        breaks=tuple(p.name for p, _, _ in unsupported),
        words=("driver", "CUDA_ERROR", "cudaError", "libcuda"),
    )
