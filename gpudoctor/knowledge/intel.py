"""Which of Intel's GPUs are cards of their own, and which kernel drives them."""

from functools import cache
from typing import Literal

import msgspec

from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.pci_ids import holds
from gpudoctor.knowledge.table import KnowledgeTable, load


class IntelFamily(msgspec.Struct, frozen=True, array_like=True):
    """A range of device ids; an empty kernel: none drives it by itself."""

    name: str
    first: str
    last: str
    kernel: str
    module: str


class IntelRows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rows of the table."""

    rows: tuple[IntelFamily, ...]


class LegacyDevices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """GPUs that Intel's compute runtime supports no more: the first build without them, ids by generation."""

    dropped: int
    devices: dict[str, str]


class RuntimePackages(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names of packages that bring Intel's compute runtime."""

    packages: tuple[str, ...]


class LoaderBuilds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Releases of Level Zero's loader, oldest first, with the first build of the compute runtime for each."""

    builds: tuple[tuple[str, int], ...]


class IntelTable(KnowledgeTable, frozen=True):
    """The table ``intel.toml``."""

    cards: IntelRows
    legacy: LegacyDevices
    packages: dict[str, tuple[str, ...]]
    opencl: dict[str, tuple[str, ...]]
    runtime: RuntimePackages
    forced: dict[str, dict[str, str]]
    loader: LoaderBuilds
    tiles: dict[str, int]


@cache
def _intel() -> IntelTable:
    return load("intel", IntelTable)


def family(device: str) -> IntelFamily | None:
    """Return the family of a device id ("56a0"); None of graphics in a processor, and of what the table lacks."""
    try:
        number = int(device, 16)
    except ValueError:
        return None
    return next((row for row in _intel().cards.rows if int(row.first, 16) <= number <= int(row.last, 16)), None)


def first_kernel(module: str) -> str:
    """Return the first kernel in which a module ("xe") drives a family by itself: before, it is an experiment there."""
    return min((row.kernel for row in _intel().cards.rows if row.kernel and row.module == module), key=version)


def runtime_for_forced(device: str, module: str) -> tuple[str, int] | None:
    """Return the first compute runtime that finds a card on a module that is not its own, and its build; else None."""
    found = family(device)
    release = _intel().forced.get(module, {}).get(found.name) if found else None
    return (release, int(release.split(".")[2])) if release else None


def tiles(device: str) -> int:
    """Return how many tiles a GPU of this device id has at most; each is a device of Level Zero by default."""
    found = family(device)
    return _intel().tiles.get(found.name, 1) if found else 1


def legacy_generation(device: str) -> str | None:
    """Return the generation of a GPU that Intel's compute runtime supports no more ("Gen9"), else None."""
    return next((name for name, ids in _intel().legacy.devices.items() if holds(ids, device)), None)


def is_dropped_by(build: int) -> bool:
    """Whether this build of the compute runtime lacks the legacy generations; 24.35's may have been built with them."""
    return build >= _intel().legacy.dropped


def opencl_packages(family: str) -> tuple[str, ...]:
    """Return the packages with Intel's driver for OpenCL in a family of distributions."""
    return _intel().opencl.get(family, ())


def packages(of: str) -> tuple[str, ...]:
    """Return the packages that bring Level Zero for a family of distributions; empty where they are not known."""
    return _intel().packages.get(of, ())


def runtime_packages() -> tuple[str, ...]:
    """Return the names under which packages bring Intel's compute runtime itself."""
    return _intel().runtime.packages


def older_of(loader: str, build: int) -> Literal["loader", "driver"] | None:
    """Return which of Level Zero's loader and Intel's driver for it is too old for the other; None: neither is known.

    Args:
        loader: the loader's release, "1.28.2".
        build: of the compute runtime, 37435.

    Raises:
        NoVersionError: the release is no version.
    """
    own = version(loader)
    for first, since in _intel().loader.builds:
        if own >= version(first) and build < since:
            return "driver"
        if own < version(first) and build >= since:
            return "loader"
    return None
