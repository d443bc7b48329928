"""Editable installations whose directory is gone."""

import re
from collections.abc import Collection, Iterator, Sequence

import msgspec

from gpudoctor.facts.python import LostCheckout
from gpudoctor.machine import Machine
from gpudoctor.probes.python.gpu_packages import needing
from gpudoctor.probes.python.packages import DirectoryNames, FoundDistribution, text_of


def lost(
    machine: Machine, linked: Collection[str], found: Sequence[FoundDistribution], names: DirectoryNames
) -> Iterator[LostCheckout]:
    """The distributions that are links to a directory that is not there.

    Args:
        machine: where they are.
        linked: the directories of packages with links in them.
        found: the installed distributions.
        names: the listings of directories.
    """
    for each in found:
        package = each.package
        if package.directory not in linked or "direct_url.json" not in names.of(each.place):
            continue
        folder = _folder(text_of(machine, f"{each.place}/direct_url.json"))
        if folder and _is_gone(machine, folder):
            users = needing(machine, found, (package.name,))
            yield LostCheckout(package=package.name, version=package.version, folder=folder, needed_by=users)


def _folder(text: str) -> str:
    """The directory of an editable installation, by its direct_url.json (PEP 610); "" where it is none."""
    try:
        said = msgspec.json.decode(text)
        editable = said["dir_info"]["editable"] is True
        address = str(said["url"])
    except (msgspec.DecodeError, TypeError, KeyError):
        return ""
    if not editable or not address.startswith("file:///"):
        return ""
    # Percent-encoding, RFC 3986: the bytes of a path's UTF-8.
    raw = re.sub(rb"%([0-9A-Fa-f]{2})", lambda match: bytes.fromhex(match[1].decode()), address.encode())
    return raw.decode("utf-8", "replace").removeprefix("file://")


def _is_gone(machine: Machine, folder: str) -> bool:
    """Whether a directory is not there; one that cannot be reached may be."""
    above, _, name = folder.rstrip("/").rpartition("/")
    while above and not machine.exists(above):
        above, _, name = above.rpartition("/")
    there = machine.listed(above or "/")
    return there is not None and name not in there
