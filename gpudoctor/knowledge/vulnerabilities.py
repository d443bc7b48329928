"""Which releases of drivers, container tools and packages have known vulnerabilities, and which fix them."""

from functools import cache
from typing import Literal

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load
from gpudoctor.lazy_regex import pattern

Severity = Literal["critical", "high"]
# What upstream calls a release; what a distribution adds ("1.1.5+ds1-1+deb12u1") stands for fixes of its own.
_UPSTREAM = pattern(r"\d+(?:\.\d+)+")


class Release(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A vulnerability of a program: releases from `since` on have it, and each series up to its fix."""

    cve: str
    severity: Severity
    source: str
    fixed: list[str]
    since: str = "0"
    only: str = ""


class Bulletin(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The worst vulnerability that a bulletin lists for some branches of the driver, and the fix in each."""

    cve: str
    severity: Severity
    source: str
    fixed: dict[int, str]
    geforce: bool = True


class Vulnerabilities(KnowledgeTable, frozen=True):
    """The table ``vulnerabilities.toml``."""

    operator: str
    windows_branches: list[int]
    toolkit: list[Release]
    runc: list[Release]
    packages: dict[str, list[Release]]
    linux: list[Bulletin]
    windows: list[Bulletin]


class Vulnerability(msgspec.Struct, frozen=True):
    """One that a release has.

    Attributes:
        cve: its number, "CVE-2025-23266".
        severity: as the vendor rates it.
        fixed: the first release without it.
        bulletin: the public page about it.
        only: under which condition it matters; empty: always.
    """

    cve: str
    severity: Severity
    fixed: str
    bulletin: str
    only: str = ""


@cache
def vulnerabilities() -> Vulnerabilities:
    """Return the table, read once."""
    return load("vulnerabilities", Vulnerabilities)


def is_upstream(version: str) -> bool:
    """Whether a version is upstream's own: only such a number says which fixes are in it."""
    return _UPSTREAM.fullmatch(version) is not None


def of_release(rows: list[Release], version: str) -> tuple[Vulnerability, ...]:
    """The vulnerabilities of a release, the worst first and of those the newest; none of a version not upstream's."""
    if not is_upstream(version):
        return ()
    return _worst_first([(row, fix, row.only) for row in rows if (fix := _fix(row, version))])


def of_driver(version: str, windows: bool = False, geforce: bool = True) -> tuple[Vulnerability, ...]:
    """The vulnerabilities of a release of NVIDIA's driver, one of each bulletin that lists its branch.

    Args:
        version: "550.90.07"; of Windows "552.44".
        windows: whether it is Windows' driver.
        geforce: whether it serves a GeForce: bulletins list some branches for professional GPUs alone.
    """
    table = vulnerabilities()
    if not is_upstream(version):
        return ()
    number, rows = _numbers(version)[0], table.windows if windows else table.linux
    branch = max((b for b in table.windows_branches if b <= number), default=0) if windows else number
    concerned = [(row, row.fixed[branch], "") for row in rows if branch in row.fixed and (row.geforce or not geforce)]
    return _worst_first([one for one in concerned if _numbers(version) < _numbers(one[1])])


def _fix(row: Release, version: str) -> str | None:
    """The first release of this series, or of a later one, without it; None where this one is not affected."""
    own = _numbers(version)
    if own < _numbers(row.since):
        return None
    series = [fix for fix in row.fixed if _numbers(fix)[:2] == own[:2]]
    fix = series[0] if series else row.fixed[0]
    return fix if own < _numbers(fix) else None


def _worst_first(found: list[tuple[Release | Bulletin, str, str]]) -> tuple[Vulnerability, ...]:
    pages = {source.id: source.url for source in vulnerabilities().source}
    made = [Vulnerability(row.cve, row.severity, fix, pages[row.source], only) for row, fix, only in found]
    return tuple(sorted(made, key=lambda one: one.severity != "critical"))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
