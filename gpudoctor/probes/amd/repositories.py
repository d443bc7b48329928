"""Which of AMD's package repositories the package manager knows."""

from gpudoctor.facts.amd import AmdRepository
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.probes import package_sources

SERVER = "repo.radeon.com"
_LOGIN = pattern(r"(?<=://)[^/@\s]+@")


def repositories(machine: Machine) -> tuple[AmdRepository, ...]:
    """Return AMD's repositories that are switched on, each once."""
    found = [
        AmdRepository(path=path, address=_LOGIN.sub("***@", one.address).rstrip("/"), suite=one.suite)
        for path, one in package_sources.listed(machine)
        if SERVER in one.address
    ]
    return tuple({(one.address, one.suite): one for one in reversed(found)}.values())[::-1]
