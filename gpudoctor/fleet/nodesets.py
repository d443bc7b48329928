"""Many names of nodes as one short text, and back: node[001-128,140]."""

import re
from collections.abc import Iterable, Iterator

# What names of machines are made of. Whatever else a name holds (a comma, "@", "!", "[") means something to
# ClusterShell, which would make other names of it; such a name is listed as it is.
_PLAIN = re.compile(r"[A-Za-z0-9_.-]+", re.ASCII)
_LAST_NUMBER = re.compile(r"(.*?)([0-9]+)([^0-9]*)", re.DOTALL)
# ClusterShell folds along several numbers at once (rack[1-4]-node[01-16]), in a time that grows faster than the number
# of names; above this many they are folded along their last number only.
_SEVERAL = 2000


class NodesError(ValueError):
    """A text that is no set of nodes; the message is one sentence."""


def fold(names: Iterable[str]) -> str:
    """The names, folded as Slurm and ClusterShell write them, in natural order.

    Names with one number are folded here, to the same text and some ten times as fast: a fleet has many. A name that
    ClusterShell would not give back as it is stands unfolded behind the others.
    """
    plain: list[str] = []
    strange: set[str] = set()
    for name in names:
        (plain.append if _PLAIN.fullmatch(name) else strange.add)(name)
    return ",".join([*_folded(plain), *sorted(strange)])


def unfold(text: str) -> tuple[str, ...]:
    """The names that a folded text means.

    Raises:
        NodesError: it is no set of nodes.
    """
    from ClusterShell.NodeSet import NodeSet, NodeSetException

    try:
        return tuple(NodeSet(text))
    except NodeSetException as error:
        raise NodesError(f'"{text}" is no set of nodes: {error}.') from None


def _folded(names: list[str]) -> Iterator[str]:
    """The folded texts, ordered as ClusterShell orders them: by what stands around the number."""
    rows: dict[tuple[str, str], set[str]] = {}
    alone: set[str] = set()
    for name in names:
        if found := _LAST_NUMBER.fullmatch(name):
            before, number, after = found.groups()
            rows.setdefault((before, after), set()).add(number)
        else:
            alone.add(name)
    texts = [(name, name) for name in alone]
    hard: list[str] = []
    deep = sum(len(numbers) for (before, _), numbers in rows.items() if _digits(before)) > _SEVERAL
    for (before, after), numbers in rows.items():
        if (_digits(before) and not deep) or not _even(numbers):
            hard += (before + number + after for number in numbers)
        else:
            texts.append((f"{before}%s{after}", f"{before}{_ranges(numbers)}{after}"))
    texts += _by_clustershell(hard)
    return (text for _, text in sorted(texts, key=lambda pair: pair[0]))


def _by_clustershell(names: list[str]) -> Iterator[tuple[str, str]]:
    """What ClusterShell makes of the names, each text with the key that it is ordered by."""
    if not names:
        return
    from ClusterShell.NodeSet import NodeSet

    for part in re.split(r",(?![^\[]*\])", str(NodeSet.fromlist(names))):
        yield re.sub(r"\[[^]]*\]|[0-9]+", "%s", part), part


def _digits(text: str) -> bool:
    return any("0" <= sign <= "9" for sign in text)


def _even(numbers: set[str]) -> bool:
    """Whether all are written alike: in one width, or none with zeros in front."""
    return len(set(map(len, numbers))) == 1 or not any(one[0] == "0" and len(one) > 1 for one in numbers)


def _ranges(numbers: set[str]) -> str:
    if len(numbers) == 1:
        return next(iter(numbers))
    width = min(map(len, numbers))
    parts: list[str] = []
    values = sorted(map(int, numbers))
    first = last = values[0]
    for value in (*values[1:], -1):
        if value == last + 1:
            last = value
            continue
        parts.append(f"{first:0{width}d}" if first == last else f"{first:0{width}d}-{last:0{width}d}")
        first = last = value
    return f"[{','.join(parts)}]"
