"""Whose library needs what the loader did not find, where a package fails that only imports another one."""

from collections.abc import Iterator

from gpudoctor.facts.python import LibraryUser, Package
from gpudoctor.machine import Machine
from gpudoctor.parsers.metadata import is_optional, normalise, required_name
from gpudoctor.probes.python.extension_search import dynamic_of
from gpudoctor.probes.python.packages import DirectoryNames, FoundDistribution, completed, text_of
from gpudoctor.registry import BY_MODULE

# The loader stops at the first library that it misses; more files than these are of a framework.
_MOST_FILES = 400


def find(machine: Machine, found: FoundDistribution, soname: str, blamed: str | None) -> LibraryUser | None:
    """The installed package, other than the failing one, with a library that needs another one.

    Looked at are the package in which the error was raised, then those that the failing one requires; their files
    decide.

    Args:
        machine: where they lie.
        found: the package whose import fails.
        soname: what the loader did not find.
        blamed: the module in which the error was raised.
    """
    if _file(machine, found, soname):
        return None
    for other in _others(machine, found, blamed):
        if path := _file(machine, other, soname):
            return LibraryUser(package=other.package.name, version=other.package.version, path=path)
    return None


def _others(machine: Machine, found: FoundDistribution, blamed: str | None) -> Iterator[FoundDistribution]:
    folder, required = found.package.directory, {}
    for line in found.package.requires:
        if not is_optional(line):
            required[normalise(required_name(line))] = line
    names, places = DirectoryNames(machine), []
    for entry in machine.names(folder):
        name, _, version = entry.removesuffix(".dist-info").partition("-")
        if entry.endswith(".dist-info") and normalise(name) not in (found.package.name, *BY_MODULE):
            places.append((normalise(name), version, f"{folder}/{entry}"))
    raising = [p for p in places if blamed and f"\n{blamed}/" in f"\n{text_of(machine, f'{p[2]}/RECORD')}"]
    for name, version, place in (*raising, *(p for p in places if p[0] in required and p not in raising)):
        package = Package(name=name, version=version, directory=folder)
        yield completed(machine, FoundDistribution(package, place), names)


def _file(machine: Machine, one: FoundDistribution, soname: str) -> str | None:
    """The first library of a distribution that needs another one."""
    paths = [f"{one.package.directory}/{claim}" for claim in one.claims if ".so" in claim]
    for path in paths[:_MOST_FILES]:
        dynamic = dynamic_of(machine, path)
        if dynamic and soname in dynamic.needed:
            return path
    return None
