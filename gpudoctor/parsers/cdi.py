"""Device nodes and other files in a CDI specification, as YAML or JSON.

https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md
"""

import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from gpudoctor.lazy_regex import pattern
from gpudoctor.parsers.numbers import whole

# "  - path: /dev/nvidia0", "    major: 195": nvidia-ctk writes block style, with its keys in any order.
_FIELD = pattern(r"""( *)(- +)?(["']?)([\w-]+)\3:(?: +(.*))?""")
_VALUE = pattern(r"""(?:"([^"]*)"|'([^']*)')(?: +#.*)?|(.*?)(?:(?:^| )#.*)?""")


class SpecNode(msgspec.Struct, frozen=True):
    """A device node of a specification."""

    path: str  # of the host
    major: int | None  # None: it names none, and the engine takes the host's


def kind(text: str) -> str | None:
    """Return what its devices are named after: "nvidia.com/gpu"."""
    found = re.search(r"""(?m)["']?\bkind["']?\s*:\s*["']?([\w./-]+)""", text)
    return found[1] if found else None


def device_nodes(text: str) -> tuple[SpecNode, ...] | None:
    """Return the device nodes that it lists, each once; None: it lists some that cannot be read."""
    if text.lstrip().startswith("{"):
        try:
            return _nodes(_json_items(msgspec.json.decode(text)))
        except (msgspec.DecodeError, RecursionError):
            return None
    found = _nodes(_yaml_items(text))
    return None if not found and "deviceNodes" in text else found


def host_paths(text: str) -> tuple[str, ...]:
    """Return the paths of the host that it names, each once: device nodes, mounts, programs of hooks."""
    try:
        items = _json_items(msgspec.json.decode(text)) if text.lstrip().startswith("{") else _yaml_items(text)
        paths = [one.get("hostPath") or one.get("path") for one in items]
    except (msgspec.DecodeError, RecursionError):
        return ()
    return tuple(dict.fromkeys(path for path in paths if isinstance(path, str) and path.startswith("/")))


def _nodes(items: Iterable[Mapping[str, object]]) -> tuple[SpecNode, ...]:
    return tuple(dict.fromkeys(node for one in items if (node := _node(one))))


def _node(fields: Mapping[str, object]) -> SpecNode | None:
    path = fields.get("hostPath") or fields.get("path")
    if not isinstance(path, str) or not path.startswith("/dev/"):
        return None
    return SpecNode(path, whole(str(fields.get("major", ""))) or None)


def _json_items(document: object) -> Iterator[Mapping[str, object]]:
    left = [document]
    for one in left:  # which grows meanwhile
        if isinstance(one, dict):
            yield one
            left.extend(one.values())
        elif isinstance(one, list):
            left.extend(one)


def _yaml_items(text: str) -> Iterator[Mapping[str, object]]:
    """Each entry of a list with its own fields, without those of lists inside it."""
    item: dict[str, object] = {}
    depth = -1
    for line in text.splitlines():
        found = _FIELD.fullmatch(line.rstrip())
        if found is None:
            continue
        column = len(found[1]) + len(found[2] or "")
        if found[2] or column < depth:
            yield item
            item, depth = {}, column if found[2] else -1
        if column == depth:
            value = _VALUE.fullmatch(found[5] or "")
            item[found[4]] = "".join(filter(None, value.groups())).strip() if value else ""
    yield item
