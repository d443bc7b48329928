"""Which installed packages of one family are of different releases, from facts alone."""

import msgspec

from gpudoctor.facts import Package, Python
from gpudoctor.knowledge.release_families import ReleaseFamily, release_families
from gpudoctor.queries.packages import numbers, packages_of, release


class MixedReleases(msgspec.Struct, frozen=True):
    """A family, the package that sets its release, and those of another one."""

    family: ReleaseFamily
    first: Package
    others: tuple[Package, ...]


def mixed(python: Python) -> tuple[MixedReleases, ...]:
    """The families of which packages of several releases are installed."""
    # conda's solver sees to it, and a version in an .egg-info may be missing
    there = [p for p in packages_of(python) if p.installer != "conda" and p.version]
    found = (_mixed(family, there) for family in release_families().family)
    return tuple(each for each in found if each is not None and each.others)


def _mixed(family: ReleaseFamily, there: list[Package]) -> MixedReleases | None:
    order = {pattern: at for at, pattern in enumerate(family.members)}
    members = sorted(
        ((order[pattern], p.name, p) for p in there if (pattern := family.pattern_of(p.name))), key=lambda row: row[:2]
    )
    if not members:
        return None
    (_, _, first), *others = members
    return MixedReleases(family, first, tuple(p for _, _, p in others if not _agree(first, p, family.numbers)))


def _agree(first: Package, other: Package, count: int) -> bool:
    """Whether two versions are of one release; a local part names the build, and .post1 may follow a release."""
    ours, theirs = release(first.version), release(other.version)
    if count:
        return numbers(ours)[:count] == numbers(theirs)[:count]
    return ours == theirs or theirs.startswith(f"{ours}.post") or ours.startswith(f"{theirs}.post")
