"""Queries about package repositories: from where this machine can install NVIDIA's driver, and AMD's ROCm."""

from collections.abc import Iterator

import msgspec

from gpudoctor.check_engine import MACHINE, About
from gpudoctor.digits import number_of
from gpudoctor.facts import Facts, PackageSource
from gpudoctor.maybe import known_or, text_of
from gpudoctor.targets import in_container

ARCHIVE, SECURITY = "http://deb.debian.org/debian", "http://security.debian.org/debian-security"
_DISC = "cdrom:"


def has_source(facts: Facts, kind: str) -> bool:
    """Whether a repository of this kind is enabled; not where that is unknown."""
    return any(source.kind == kind for source in known_or(facts.host.sources, ()))


class MissingComponents(msgspec.Struct, frozen=True):
    """What is not enabled of an archive: its address, the suites, and their components."""

    address: str
    suites: tuple[str, ...]
    components: tuple[str, ...]


def missing_components(facts: Facts) -> tuple[MissingComponents, ...]:
    """The components of Debian's archives with NVIDIA's driver that no file of apt's names; () where that is unknown.

    https://wiki.debian.org/NvidiaGraphicsDrivers: the driver is in non-free, what it depends on in contrib, and from
    Debian 12 on its firmware in non-free-firmware. Where one archive has the firmware and not the driver, such as that
    of security updates, apt finds no driver for the firmware that it would take.
    """
    own, codename = facts.host.distribution, text_of(facts.host.distribution.codename)
    release = number_of(text_of(own.version).partition(".")[0])
    there = _archives(facts, codename)
    if own.id != "debian" or not codename or release is None:
        return ()
    wanted = ("contrib", "non-free", "non-free-firmware") if release >= 12 else ("contrib", "non-free")
    if not there and discs(facts):  # the suites of https://wiki.debian.org/SourcesList
        return (
            MissingComponents(ARCHIVE, (codename, f"{codename}-updates"), ("main", *wanted)),
            MissingComponents(SECURITY, (f"{codename}-security",), ("main", *wanted)),
        )
    lacking: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (address, suite), components in there.items():
        if missing := tuple(name for name in wanted if name not in components):
            lacking.setdefault((address, missing), []).append(suite)
    if all(suite == f"{codename}-updates" for suites in lacking.values() for suite in suites):
        return ()  # it has nothing that is not in the archive itself before long
    return tuple(MissingComponents(address, tuple(suites), missing) for (address, missing), suites in lacking.items())


def discs(facts: Facts) -> tuple[str, ...]:
    """The files that name a disc as a source, which apt asks for as soon as it has a package in that version."""
    found = (one.path for one in known_or(facts.host.sources, ()) if one.address.startswith(_DISC))
    return tuple(dict.fromkeys(found))


def _archives(facts: Facts, codename: str) -> dict[tuple[str, str], set[str]]:
    """The components of Debian's own archives by address and suite; others' repositories have its suites, too."""
    found: dict[tuple[str, str], set[str]] = {}
    for one in known_or(facts.host.sources, ()):
        if one.kind == "distribution" and one.release and not one.address.startswith(_DISC):
            found.setdefault((one.address or ARCHIVE, one.release), set()).update(one.components)
    # Debian's mirrors have updates or security updates as well.
    own = {address for address, suite in found if suite != codename} or {next((address for address, _ in found), "")}
    return {place: parts for place, parts in found.items() if place[0] in own or ".debian.org/" in place[0]}


def sources_of_older_debian(facts: Facts) -> tuple[PackageSource, ...]:
    """NVIDIA's repositories for an older Debian, whose key apt rejects from Debian 13 on."""
    own = facts.host.distribution
    release = number_of(text_of(own.version).partition(".")[0])
    if own.id != "debian" or release is None or release < 13:
        return ()
    found = [s for s in known_or(facts.host.sources, ()) if s.kind == "nvidia" and s.release]
    return tuple(s for s in found if (number_of((s.release or "").removeprefix("debian")) or release) < release)


def apt_with_rocm(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine where apt has AMD's repository of ROCm; that of the driver has no such package."""
    rows = known_or(facts.amd.repositories, None) or ()
    if any("/rocm/apt/" in row.address for row in rows) and not in_container(facts):
        yield MACHINE, facts
