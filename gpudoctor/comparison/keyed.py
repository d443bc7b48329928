"""Lists of facts as dictionaries: an entry is compared with the one of its name, wherever in the list it stands."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

Node = Any  # what msgspec.to_builtins gives, with dictionaries in place of lists of entries


class KeyedFigure(NamedTuple):
    """A figure of a smoke test."""

    value: float
    unit: str


# The fields that name an entry, by the name of the list; entries of one name are numbered.
NAMES: dict[str, tuple[str, ...]] = {
    "gpus": ("index",),
    "devices": ("index",),
    "pci": ("role",),
    "nodes": ("path",),
    "kfd": ("path",),
    "render": ("path",),
    "libraries": ("soname", "name"),
    "other_libraries": ("soname",),
    "link_libraries": ("soname",),
    "on_disk": ("kernel",),
    "other_kernels": ("kernel",),
    "dkms": ("module", "kernel"),
    "nvccs": ("path",),
    "toolkits": ("path",),
    "rocm_releases": ("path",),
    "cudnn": ("path",),
    "nccl": ("path",),
    "headers": ("library",),
    "directories": ("purpose", "path"),
    "groups": ("gid",),
    "known_groups": ("gid",),
    "packages": ("name",),
    "conda": ("name",),
    "frameworks": ("name",),
    "needs": ("soname",),
    "shadows": ("module",),
    "remnants": ("module",),
    "overlaps": ("packages",),
    "mixed": ("packages",),
    "unmet": ("package", "requires"),
    "extensions": ("package",),
    "imports": ("package",),
    "kernels": ("directory",),
    "absent": ("soname",),
    "runs": ("backend", "label"),
    "smoke": ("backend", "device"),
    "tests": ("name", "test", "variant"),
    "figures": ("name",),
}
# Always numbered: what stands there has no name that two machines share.
NUMBERED = ("pythons", "pci")


def keyed(node: Node, name: str = "", by_path: bool = False) -> Node:
    """The tree with named entries in place of lists.

    Args:
        node: what msgspec.to_builtins gave.
        name: of the field that holds it.
        by_path: interpreters are distinguished by their paths, because both sides have some in common.
    """
    if isinstance(node, dict):
        return {str(key): keyed(value, str(key), by_path) for key, value in node.items()}
    if not isinstance(node, (list, tuple)):
        return node
    if name in SPECIAL:
        return SPECIAL[name](node)
    if name == "pythons" and by_path:
        return _named(((str(one.get("path")), one) for one in node), by_path)
    if node and all(isinstance(one, dict) for one in node):
        return _named(((_called(one, name), one) for one in node), by_path, name in NUMBERED)
    if node and all(isinstance(one, (list, tuple)) for one in node):  # ("name", "version", "state")
        return _named((str(one[0]), " ".join(map(str, one[1:]))) for one in node if one)
    return list(node)


def _called(entry: dict[str, Any], name: str) -> str:
    """An entry's name: what its naming fields hold."""
    parts = (entry.get(field) for field in NAMES.get(name, ()))
    return " ".join(_joined(part) for part in parts if part not in (None, ""))


def _joined(part: Any) -> str:
    return ", ".join(map(str, part)) if isinstance(part, (list, tuple)) else str(part)


def _named(entries: Iterable[tuple[str, Any]], by_path: bool = False, numbered: bool = False) -> dict[str, Node]:
    found: dict[str, Node] = {}
    seen: Counter[str] = Counter()
    for name, entry in entries:
        seen[name] += 1
        shown = f"{name} {seen[name]}".strip() if numbered or seen[name] > 1 or not name else name
        found[shown] = keyed(entry, "", by_path)
    return found


def _events(events: Iterable[Any]) -> dict[str, int]:
    """How often the kernel said each thing: when it did so differs by nature."""
    kinds = (f"{event['kind']} {event['code']}" if event.get("code") is not None else event["kind"] for event in events)
    return dict(sorted(Counter(map(str, kinds)).items()))


def _figures(figures: Iterable[Any]) -> dict[str, KeyedFigure]:
    return {str(one["name"]): KeyedFigure(float(one["value"]), str(one["unit"])) for one in figures}


# mig_devices holds UUIDs: how many there are is what two machines can have in common.
SPECIAL: dict[str, Callable[[Any], Node]] = {"events": _events, "figures": _figures, "mig_devices": len}
