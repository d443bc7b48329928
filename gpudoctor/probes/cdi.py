"""The CDI specifications by which container engines pass NVIDIA GPUs."""

import re
from collections.abc import Iterable

import msgspec

from gpudoctor.facts.container_host import CdiGone, CdiNode
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers.cdi import SpecNode, device_nodes, host_paths, kind

_FOLDERS = ("/etc/cdi", "/var/run/cdi")
# Fields of a specification and the version of CDI that they came with.
_LATER = {"additionalGids": "0.7.0", "intelRdt": "0.7.0"}
# One node of each driver is enough to see whether the file has its major: GPUs and MIG's slices are many.
_NUMBER = re.compile(r"\d+")


class Specifications(msgspec.Struct, frozen=True):
    """What `ContainerHost` says of them, under the same names with "cdi" in front."""

    paths: Maybe[tuple[str, ...]]
    driver: Maybe[str | None]
    fields: dict[str, str]
    nodes: Maybe[tuple[CdiNode, ...]]
    gone: tuple[CdiGone, ...]


def probe(machine: Machine) -> Specifications:
    """Read the specifications, and of NVIDIA's the driver, later versions' fields, device numbers, what is missing."""
    listed = {folder: machine.listed(folder) for folder in _FOLDERS}
    closed = next((f for f, names in listed.items() if names is None and machine.exists(f)), None)
    unlisted = Unknown(f"{closed} cannot be listed") if closed else None
    names = (f"{folder}/{name}" for folder in _FOLDERS for name in listed[folder] or ())
    paths = tuple(path for path in names if path.endswith((".yaml", ".yml", ".json")))
    texts, unread = dict[str, str](), unlisted
    for path in paths:
        try:
            text = machine.text(path)
        except OSError as error:
            unread = Unknown(f"{path}: {error.strerror}")
        else:
            if "nvidia.com/" in text:
                texts[path] = text
    drivers = (re.search(r"lib(?:cuda|nvidia-ml)\.so\.(\d{3,4}\.\d+(?:\.\d+)*)", text) for text in texts.values())
    # An engine refuses the whole file for a field that it does not know.
    fields = {
        name: version
        for name, version in _LATER.items()
        if any(re.search(rf'\b{name}"?\s*:', text) for text in texts.values())
    }
    listings = {path: device_nodes(text) for path, text in texts.items()}
    unclear = next(
        (Unknown(f"{path}: its device nodes cannot be read") for path, one in listings.items() if one is None), None
    )
    nodes = tuple(node for path, listing in listings.items() for node in _nodes(path, texts[path], listing or ()))
    return Specifications(
        paths=unlisted or paths,
        driver=next((found[1] for found in drivers if found), unread),
        fields=fields,
        nodes=unread or unclear or nodes,
        gone=tuple(
            CdiGone(file=path, kind=kind(text) or "", path=one)
            for path, text in texts.items()
            for one in host_paths(text)
            if machine.here and _gone(machine, one)
        ),
    )


def _gone(machine: Machine, path: str) -> bool:
    """Whether a path is known not to exist: the nearest directory above it that can be read does not list it."""
    if machine.status(path) is not None:
        return False
    folder, _, name = path.rstrip("/").rpartition("/")
    listed = machine.listed(folder or "/")
    if listed is not None:
        return name not in listed
    return bool(folder) and _gone(machine, folder)


def _nodes(file: str, text: str, listing: Iterable[SpecNode]) -> tuple[CdiNode, ...]:
    ours = (node for node in listing if node.path.startswith("/dev/nvidia"))
    found = {(_NUMBER.sub("", node.path), node.major): node for node in ours}
    nodes = sorted(found.values(), key=lambda node: node.path)
    return tuple(CdiNode(file=file, kind=kind(text) or "", path=node.path, major=node.major) for node in nodes)
