"""Which installed packages are of releases that do not belong together, from facts alone."""

import re
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from gpudoctor.facts import Facts, Package, Python
from gpudoctor.knowledge.release_families import ReleaseFamily, Undeclared, release_families
from gpudoctor.maybe import text_of
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.packages import has_gpu_between, numbers, packages_of, release


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


def undeclared(facts: Facts, python: Python) -> Iterator[tuple[Undeclared, Package]]:
    """The rows of what no metadata names that are about an installed package, its release and this PyTorch."""
    there = packages_of(python)
    for row in release_families().undeclared:
        owner = next((p for p in there if row.is_about(p.name)), None)
        if owner is None or not _concerns(facts, python, row, owner):
            continue
        yield (replace(row, wanted=_named_by_extra(row, owner)) if row.extra else row), owner


def is_wanted(facts: Facts, python: Python, name: str, version: str) -> str | None:
    """The package that, by such a row, needs a distribution in no older release than this; None: none does."""
    rows = ((row, owner) for row, owner in undeclared(facts, python) if row.other == name and row.wanted[:2] == ">=")
    return next((owner.name for row, owner in rows if numbers(version) >= numbers(row.wanted[2:])), None)


def _concerns(facts: Facts, python: Python, row: Undeclared, owner: Package) -> bool:
    """Whether a row is about this release of the package and this build of PyTorch."""
    if not numbers(row.since) <= numbers(owner.version) < numbers(row.before):
        return False
    torch = one_of(python, "torch")
    if row.build and (torch is None or torch.variant != row.build):
        return False
    if row.cuda and (torch is None or text_of(torch.cuda).partition(".")[0] != row.cuda):
        return False
    if row.torch and (torch is None or release(text_of(torch.version)) != row.torch):
        return False
    there = {p.name: numbers(p.version) for p in packages_of(python)} if row.beside else {}
    for name, (first, end) in row.beside.items():
        if name not in there or not numbers(first) <= there[name] < numbers(end):
            return False
    if row.gpus and not has_gpu_between(facts, *row.gpus):
        return False
    if row.without and any(name.startswith(row.without) for name in owner.libraries):
        return False
    return not (row.switch and facts.host.environment.get(row.switch, "").lower() in ("1", "true"))


def _named_by_extra(row: Undeclared, owner: Package) -> str:
    """The release that an extra of the package pins, as the lowest that it takes: ">=0.1.4"; "" where it names none."""
    line = re.compile(rf"{re.escape(row.other)}\s*\(?==\s*([\w.]+)\)?\s*;.*extra == ['\"]{row.extra}['\"]")
    found = next((match for text in owner.requires if (match := line.match(text))), None)
    return f">={found[1]}" if found else ""
