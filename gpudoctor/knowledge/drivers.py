"""Which NVIDIA driver branch reports, supports and runs which CUDA version."""

from functools import cache

import msgspec

from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.table import KnowledgeTable, load


class Drivers(KnowledgeTable, frozen=True):
    """The table ``drivers.toml``."""

    floor: dict[str, tuple[str, str]]
    branch: dict[int, tuple[str, str, str]]
    toolkit: dict[str, tuple[str, str]]
    open: dict[str, int]
    ptx: dict[str, str]
    compiles: dict[str, dict[int, str]]
    last_release: dict[int, str]


class Branch(msgspec.Struct, frozen=True):
    """A driver branch: the CUDA version it reports, NVIDIA's kind of it, and its end of life."""

    number: int
    cuda: str
    kind: str | None
    end_of_life: str | None


@cache
def drivers() -> Drivers:
    """Return the table, read once."""
    return load("drivers", Drivers)


@cache
def branch_of(number: int) -> Branch | None:
    """Return what is known of the branch (the first number of a driver version), or None."""
    row = drivers().branch.get(number)
    return Branch(number, row[0], row[1] or None, row[2] or None) if row else None


def cuda_of_branch(branch: int) -> str | None:
    """Return the CUDA version that ``nvidia-smi`` shows for this driver branch, such as "12.4"."""
    row = drivers().branch.get(branch)
    return row[0] if row else None


def minimum_driver(cuda: str, *, windows: bool = False) -> str | None:
    """Return the oldest driver that runs applications of this CUDA version at all.

    From CUDA 11 that is the floor of minor-version compatibility of its major; older
    applications need the driver of their own toolkit. None where no table says.
    """
    floor = drivers().floor.get(cuda.partition(".")[0])
    if floor:
        return floor[windows]
    return native_driver(cuda, windows=windows)


def native_driver(cuda: str, *, windows: bool = False) -> str | None:
    """Return the oldest driver with every feature of this toolkit ("12.4" means its first release)."""
    wanted = cuda.split(".")
    found = [v for v in drivers().toolkit if v.split(".")[: len(wanted)] == wanted]
    if not found:
        return None
    return drivers().toolkit[min(found, key=version)][windows] or None


def cuda_of_ptx(version: str) -> str | None:
    """Return the first CUDA release with a PTX version: "8.7" is of CUDA 12.8; None where no table says."""
    return drivers().ptx.get(version)


def branch_for(cuda: str) -> int | None:
    """Return the branch to install so that a CUDA release runs with all its features, or None where none is known.

    The newest long-term branch, unless it is too old.
    """
    fits = [number for number, row in drivers().branch.items() if version(row[0]) >= version(cuda)]
    return advised_branch() if advised_branch() in fits else min(fits, default=None)


@cache
def advised_branch(first: int = 0) -> int:
    """Return the newest long-term branch: what to install where nothing asks for another.

    Args:
        first: the oldest branch that is to be had; where no long-term one is, the newest production branch.
    """
    rows = drivers().branch
    found = (
        max((n for n, row in rows.items() if row[1] == kind and n >= first), default=None) for kind in ("LTSB", "PB")
    )
    return next((branch for branch in found if branch is not None), first)


def first_that_compiles(branch: int, kernel: str) -> str | None:
    """Return the first release of a branch that compiles against a kernel ("7.1.3-arch1-1"); None: no table says."""
    rows, running = drivers().compiles, version(kernel)
    found = [own[branch] for series, own in rows.items() if branch in own and version(series) <= running]
    return max(found, key=version, default=None)


def last_release(branch: int) -> str | None:
    """Return the last release of a branch that gets no others; None: it gets some, or it is not known."""
    return drivers().last_release.get(branch)


def first_open_for_all() -> int:
    """Return the branch from which the open modules take GeForce and workstation GPUs, not only data center ones."""
    return drivers().open["for_all"]


def newest_branch() -> int:
    """Return the newest branch of the table: a driver beyond it is newer than what is known here."""
    return max(drivers().branch)
