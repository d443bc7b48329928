"""Queries about package repositories: from where this machine can install NVIDIA's driver, and AMD's ROCm."""

from collections.abc import Iterator

from gpudoctor.check_engine import MACHINE, About
from gpudoctor.digits import number_of
from gpudoctor.facts import Facts, PackageSource
from gpudoctor.maybe import known_or, text_of
from gpudoctor.targets import in_container


def has_source(facts: Facts, kind: str) -> bool:
    """Whether a repository of this kind is enabled; not where that is unknown."""
    return any(source.kind == kind for source in known_or(facts.host.sources, ()))


def missing_components(facts: Facts) -> tuple[str, ...]:
    """The components of Debian's archive with NVIDIA's driver that no file of apt's names; () where that is unknown.

    https://wiki.debian.org/NvidiaGraphicsDrivers: the driver is in non-free, what it depends on in contrib, and from
    Debian 12 on its firmware in non-free-firmware.
    """
    own = [source for source in known_or(facts.host.sources, ()) if source.kind == "distribution"]
    release = number_of(text_of(facts.host.distribution.version).partition(".")[0])
    if facts.host.distribution.id != "debian" or not own or release is None:
        return ()
    there = {name for source in own for name in source.components}
    wanted = ("contrib", "non-free", "non-free-firmware") if release >= 12 else ("contrib", "non-free")
    return tuple(name for name in wanted if name not in there)


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
