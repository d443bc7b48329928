"""The package repositories from which NVIDIA's driver comes, as the package manager's files name them."""

import re
from collections.abc import Iterator

from gpudoctor.facts.host import Distribution, PackageSource
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, text_of
from gpudoctor.parsers import repositories as files

_APT, _APT_FILE = "/etc/apt/sources.list.d", "/etc/apt/sources.list"
_RPM = ("/etc/yum.repos.d", "/etc/zypp/repos.d")
# https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/
_NVIDIA = re.compile(r"//developer\.download\.nvidia\.(?:com|cn)/compute/cuda/repos/([a-z]+\d+)")
_OTHERS = (("rpmfusion", "rpmfusion"), ("negativo17", "negativo17"), ("download.nvidia.com", "nvidia"))
# A package manager's file has some lines; more than that is no configuration.
_LIMIT = 1 << 18


def sources(machine: Machine, distribution: Distribution) -> Maybe[tuple[PackageSource, ...]]:
    """Return the repositories that are the distribution's own or have NVIDIA's driver; of others nothing is kept."""
    found = [*_apt(machine, text_of(distribution.codename)), *_rpm(machine)]
    there = machine.exists("/etc/apt") or any(machine.exists(folder) for folder in _RPM)
    return tuple(dict.fromkeys(found)) if there else Unknown("there are no files of apt, dnf or zypper")


def _apt(machine: Machine, codename: str) -> Iterator[PackageSource]:
    for path in (_APT_FILE, *(f"{_APT}/{name}" for name in machine.names(_APT))):
        text = _text(machine, path) if path.endswith((".list", ".sources")) else ""
        for one in files.apt(path, text):
            kind, release = _kind(one.address)
            if kind:
                yield PackageSource(path=path, kind=kind, release=release)
            elif one.suite and one.suite == codename and "main" in one.components:
                yield PackageSource(path=path, kind="distribution", release=one.suite, components=one.components)


def _rpm(machine: Machine) -> Iterator[PackageSource]:
    for folder in _RPM:
        for name in machine.names(folder):
            for one in files.rpm(_text(machine, f"{folder}/{name}") if name.endswith(".repo") else ""):
                kind, release = _kind(one.address)
                if kind:
                    yield PackageSource(path=f"{folder}/{name}", kind=kind, release=release)


def _kind(address: str) -> tuple[str, str | None]:
    """Whose repository it is, and for which release NVIDIA made it; "" for one that is none of these."""
    found = _NVIDIA.search(address)
    if found:
        return "nvidia", found[1]
    return next((kind for word, kind in _OTHERS if word in address), ""), None


def _text(machine: Machine, path: str) -> str:
    try:
        return machine.text(path, _LIMIT)
    except OSError:
        return ""
