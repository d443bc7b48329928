"""What wheels ask of one another and of the system's C library."""

from functools import cache

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load


class Pythons(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The releases of Python for new environments, best first."""

    preferred: tuple[str, ...]


class NumbaCuda(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first releases of numba-cuda that have extras, link by nvJitLink, find NVVM 13's wheel, and take it first."""

    extras: str
    links: str
    finds_13: str
    finds_13_first: str


class Wheels(KnowledgeTable, frozen=True):
    """The table ``wheels.toml``."""

    torch_nccl: dict[str, str]
    tensorflow: dict[str, tuple[str, str]]
    glibc: dict[str, dict[str, str]]
    glibc_cpu: dict[str, dict[str, str]]
    distribution: dict[str, str]
    python: Pythons
    numba_cuda: NumbaCuda


@cache
def wheels() -> Wheels:
    """Return the table, read once."""
    return load("wheels", Wheels)


def torch_nccl(release: str) -> str | None:
    """Return the NCCL that a release of PyTorch ("2.14") pins, or None where unknown."""
    return wheels().torch_nccl.get(release)


def tensorflow_asks(release: str) -> tuple[str, str] | None:
    """Return the NCCL and the cuDNN that a release's extra and-cuda asks for, "==2.23.4", or None where unknown."""
    return wheels().tensorflow.get(release)


def lowest_glibc(framework: str, architecture: str, *, cpu: bool = False) -> str | None:
    """Return the oldest glibc that a framework's wheels run on, or None where there are none for the architecture."""
    table = wheels().glibc_cpu if cpu else wheels().glibc
    return table.get(architecture, {}).get(framework)


def glibc_of(distro_id: str, release: str | None) -> str | None:
    """Return the glibc of a distribution where it is old, "musl" where it has that, else None.

    Args:
        distro_id: ID of os-release.
        release: VERSION_ID of os-release.
    """
    rows, major = wheels().distribution, (release or "").partition(".")[0]
    names = (distro_id, f"{distro_id} {release}", f"{distro_id} {major}")
    return next((rows[name] for name in names if name in rows), None)


def preferred_pythons() -> tuple[str, ...]:
    """Return the releases of Python for new environments, best first."""
    return wheels().python.preferred
