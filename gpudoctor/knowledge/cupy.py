"""Which CuPy package is for which CUDA, and what it runs on."""

from functools import cache
from typing import Literal

import msgspec

from gpudoctor.knowledge.kernels import coverage, version
from gpudoctor.knowledge.table import KnowledgeTable, load


class CupyPackage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A package: its CUDA major and range, releases from first to last ("" is still made), capabilities."""

    name: str
    major: int
    cuda: tuple[str, str]
    first: str
    last: str
    python: tuple[str, str]
    targets: str
    numpy: str = ""


class CupyRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first release with the extra that brings CUDA, and packages that exclude one another."""

    ctk_since: str
    own_headers_since: str
    exclusive: tuple[str, ...]


class Cupy(KnowledgeTable, frozen=True):
    """The table ``cupy.toml``."""

    package: tuple[CupyPackage, ...]
    rules: CupyRules


@cache
def cupy() -> Cupy:
    """Return the table, read once."""
    return load("cupy", Cupy)


def package(name: str) -> CupyPackage | None:
    """Return what is known of a package such as "cupy-cuda12x", or None."""
    return next((p for p in cupy().package if p.name == name), None)


def package_for(cuda_major: int) -> CupyPackage | None:
    """Return the package for a CUDA major, or None."""
    return next((p for p in cupy().package if p.major == cuda_major), None)


def package_for_gpu(capability: str, driver_cuda: str | None = None) -> CupyPackage | None:
    """Return the newest package with code for this GPU that the driver ("12.4") can run, or None."""
    for found in reversed(cupy().package):
        runs = driver_cuda is None or version(driver_cuda)[0] >= found.major
        if runs and coverage(found.targets, capability):
            return found
    return None


def kernels_for(name: str, capability: str) -> Literal["machine code", "ptx"] | None:
    """Say what in a package runs on this GPU, or None where nothing does or it is unknown."""
    found = package(name)
    return coverage(found.targets, capability) if found else None


def exclusive() -> tuple[str, ...]:
    """Return the packages of which exactly one may be installed."""
    return cupy().rules.exclusive
