"""Which of two records of one distribution in one folder is right: read from the files that are there.

An upgrade that was interrupted, or copied into an image in two layers, leaves both torch-2.6.0.dist-info and
torch-2.7.1.dist-info. Python and pip take either.
"""

from collections.abc import Iterator, Sequence

from gpudoctor.facts.python import Package, Remnant
from gpudoctor.knowledge.wanted import module_of
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.probes.python.packages import FoundDistribution, text_of

# Rows of RECORD that are held against files, spread over all: releases differ in most of their files.
_ROWS = 200
OTHER = "other release"
_VERSION = pattern(r"""(?m)^_*version_*\s*(?::[^=\n]+)?=\s*['"]([^'"\n]+)['"]""")

Score = tuple[float, bool, bool]


def sorted_out(
    machine: Machine, found: Sequence[FoundDistribution]
) -> tuple[list[FoundDistribution], tuple[Remnant, ...]]:
    """The distributions without the records of releases that are not there, and those records.

    Where the files do not tell which is right, all stay.
    """
    groups: dict[tuple[str, str], list[FoundDistribution]] = {}
    for each in found:
        groups.setdefault((each.package.directory, each.package.name), []).append(each)
    wrong = {id(other): right for group in groups.values() for right, other in _wrong(machine, group)}
    remnants = (_remnant(each, wrong[id(each)].package) for each in found if id(each) in wrong)
    return [each for each in found if id(each) not in wrong], tuple(remnants)


def _remnant(one: FoundDistribution, right: Package) -> Remnant:
    module = module_of(right.name) or right.name
    return Remnant(module=module, path=one.place, reason=OTHER, package=right.name, version=one.package.version)


def _wrong(machine: Machine, group: list[FoundDistribution]) -> Iterator[tuple[FoundDistribution, FoundDistribution]]:
    """The right one with each of the others; nothing where that is open."""
    if len(group) < 2:
        return
    scores = [(_score(machine, each), each) for each in group]
    best = max(score for score, _ in scores)
    right = [each for score, each in scores if score == best]
    if len(right) == 1:
        yield from ((right[0], each) for each in group if each is not right[0])


def _score(machine: Machine, one: FoundDistribution) -> Score:
    """How many of the recorded files are there in that size, whether the record is its own, and what the code says."""
    folder, own = one.package.directory, one.place.rpartition("/")[2]
    text = text_of(machine, f"{one.place}/RECORD")
    import csv  # few environments have two records of one distribution

    rows = [row for row in csv.reader(text.splitlines()) if len(row) == 3 and row[2].isdigit()]
    files = [row for row in rows if ".dist-info/" not in row[0]]
    chosen = files[:: max(1, len(files) // _ROWS)]
    there = sum(_is_there(machine, f"{folder}/{path}", int(size)) for path, _, size in chosen)
    share = there / len(chosen) if chosen else 0.0
    return share, f"{own}/" in text, _release(one.package.version) in _told(machine, one.package)


def _is_there(machine: Machine, path: str, size: int) -> bool:
    status = machine.status(path)
    return status is not None and status.size == size


def _told(machine: Machine, package: Package) -> set[str]:
    """The releases that the module's own code names."""
    place = f"{package.directory}/{module_of(package.name) or package.name.replace('-', '_')}"
    texts = (text_of(machine, f"{place}/{name}") for name in ("version.py", "_version.py", "__init__.py"))
    return {_release(match) for text in texts for match in _VERSION.findall(text)}


def _release(version: str) -> str:
    return version.partition("+")[0]
