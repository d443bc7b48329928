"""The package repositories from which NVIDIA's driver comes, as the package manager's files name them."""

from collections.abc import Iterator

from gpudoctor.facts.host import Distribution, NegativePin, PackageSource
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, text_of
from gpudoctor.probes import package_sources

# https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/, and NVIDIA's local installers:
# file:///var/cuda-repo-debian12-12-8-local, file:///var/nvidia-driver-local-repo-ubuntu2404-570.133.20
_NVIDIA = pattern(
    r"(?://developer\.download\.nvidia\.(?:com|cn)/compute/cuda/repos/|/var/(?:cuda-repo|nvidia-driver-local-repo)-)"
    r"([a-z]+\d+)"
)
# What the archives of Debian and Ubuntu are divided into; others' repositories have "main" as well.
_COMPONENTS = frozenset(("main", "contrib", "non-free", "non-free-firmware", "restricted", "universe", "multiverse"))
_OTHERS = (("rpmfusion", "rpmfusion"), ("negativo17", "negativo17"), ("download.nvidia.com", "nvidia"))


def sources(machine: Machine, distribution: Distribution) -> Maybe[tuple[PackageSource, ...]]:
    """Return the repositories that are the distribution's own or have NVIDIA's driver; of others nothing is kept."""
    if not any(machine.exists(folder) for folder in (package_sources.APT, *package_sources.RPM)):
        return Unknown("there are no files of apt, dnf or zypper")
    codename = text_of(distribution.codename)
    suites = {codename, f"{codename}-updates", f"{codename}-security"} if codename else set()
    return tuple(dict.fromkeys(_sources(machine, suites)))


def pins(machine: Machine) -> Maybe[tuple[NegativePin, ...]]:
    """Return what apt's preferences keep from being installed."""
    if not machine.exists(package_sources.APT):
        return Unknown("there are no files of apt")
    found = package_sources.negative_pins(machine)
    return tuple(
        NegativePin(path=path, packages=names, source=source, alone=alone) for path, names, source, alone in found
    )


def _sources(machine: Machine, suites: set[str]) -> Iterator[PackageSource]:
    for path, one in package_sources.listed(machine):
        kind, release = _kind(one.address)
        if kind:
            yield PackageSource(path=path, kind=kind, release=release)
        elif one.suite in suites and _COMPONENTS.intersection(one.components):
            yield PackageSource(
                path=path,
                kind="distribution",
                release=one.suite,
                components=one.components,
                address=one.address.rstrip("/"),
            )


def _kind(address: str) -> tuple[str, str | None]:
    """Whose repository it is, and for which release NVIDIA made it; "" for one that is none of these."""
    found = _NVIDIA.search(address)
    if found:
        return "nvidia", found[1]
    return next((kind for word, kind in _OTHERS if word in address), ""), None
