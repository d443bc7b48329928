"""Many names of nodes as one short text, and back: node[001-128,140]."""

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib.util import find_spec

from gpudoctor.extras import install_command

# What names of machines are made of. Whatever else a name holds (a comma, "@", "!", "[") means something to
# ClusterShell, which would make other names of it; such a name is listed as it is.
_PLAIN = re.compile(r"[A-Za-z0-9_.-]+", re.ASCII)
_NUMBER = re.compile(r"([0-9]+)")
_DIGITS = re.compile(r"0*([0-9]+)")
_LAST_NUMBER = re.compile(r"([A-Za-z0-9_.-]*?)([0-9]{1,18})([A-Za-z_.-]*)", re.ASCII)
# ClusterShell folds along several numbers at once (rack[1-4]-node[01-16]), in a time that grows faster than the number
# of names; above this many they are folded along their last number only.
_SEVERAL = 2000
# More nodes than any cluster has: a slip of the key in a range would take all of the memory.
MOST = 1_000_000
_BETWEEN = re.compile(r"[,!^&](?![^\[]*\])")
_RANGES = re.compile(r"\[([^\]]*)\]")
_RANGE = re.compile(r"([0-9]{1,30})-([0-9]{1,30})(?:/([0-9]{1,30}))?")
_LONGEST = 200  # letters of a name by which it is sorted as people do it


class NodesError(ValueError):
    """A text that is no set of nodes; the message is one sentence."""


def fold(names: Iterable[str]) -> str:
    """The names, folded as Slurm and ClusterShell write them, in natural order.

    Names with one number are folded here, to the same text and some ten times as fast: a fleet has many. A name that
    ClusterShell would not give back as it is stands unfolded behind the others.
    """
    return ",".join(_folded(list(names)))


def unfold(text: str) -> tuple[str, ...]:
    """The names that a folded text means.

    Raises:
        NodesError: it is no set of nodes, is one of more than MOST, or ClusterShell is not installed.
    """
    if not find_spec("ClusterShell"):
        raise NodesError(f"`gpudoctor fleet` needs ClusterShell: {install_command('fleet')}.")
    if sum(map(_meant, _BETWEEN.split(text))) > MOST:  # ClusterShell would make all of them
        raise NodesError(f'"{text}" expands to more than {MOST:,} nodes.')
    from ClusterShell.NodeSet import NodeSet, NodeSetException
    from ClusterShell.NodeUtils import GroupResolverError, GroupSourceError
    from ClusterShell.RangeSet import RangeSetException

    try:
        return tuple(NodeSet(text))
    except (NodeSetException, RangeSetException) as error:
        raise NodesError(f'"{text}" is not a node set: {str(error).rstrip(".")}.') from None
    except (GroupResolverError, GroupSourceError) as error:
        why = str(error).rstrip(".")
        raise NodesError(f'"{text}" is not a node set: ClusterShell does not know this group ({why}).') from None


def _meant(one: str) -> int:
    """How many names one part of a set means, at most."""
    many = 1
    for ranges in _RANGES.findall(one):
        spans = [(int(m[1]), int(m[2]), int(m[3] or 1) or 1) for m in _RANGE.finditer(ranges)]
        many *= ranges.count(",") + 1 + sum(max(0, last - first) // step for first, last, step in spans)
    return many


def natural(name: str) -> tuple[tuple[tuple[int, str], ...], str]:
    """What sorts names as people do: node9 before node10."""
    parts = enumerate(_NUMBER.split(name[:_LONGEST]))  # every second one is a number
    return tuple((int(part), "") if at % 2 else (-1, part) for at, part in parts), name


def sortable(name: str) -> str:
    """What sorts names as `natural` does, in less memory: each number after its length."""
    return _DIGITS.sub(lambda found: f"\1{len(found[1]):03d}{found[1]}", name[:_LONGEST]) + "\0" + name


class _Row:
    """The numbers of names that are alike around them."""

    __slots__ = ("padded", "values", "widths")

    def __init__(self) -> None:
        self.values = array("Q")
        self.widths: set[int] = set()
        self.padded = False

    def add(self, number: str) -> None:
        self.values.append(int(number))
        self.widths.add(len(number))
        self.padded = self.padded or (number[0] == "0" and len(number) > 1)

    def even(self) -> bool:
        """Whether all are written alike: in one width, or none with zeros in front."""
        return len(self.widths) == 1 or not self.padded

    def text(self) -> str:
        width = min(self.widths)
        values = sorted(set(self.values))
        if len(values) == 1:
            return f"{values[0]:0{width}d}"
        parts: list[str] = []
        first = last = values[0]
        for value in (*values[1:], -1):
            if value == last + 1:
                last = value
                continue
            parts.append(f"{first:0{width}d}" if first == last else f"{first:0{width}d}-{last:0{width}d}")
            first = last = value
        return f"[{','.join(parts)}]"


def _folded(names: list[str]) -> Iterator[str]:
    """The folded texts, ordered as ClusterShell orders them: by what stands around the number."""
    rows: defaultdict[tuple[str, str], _Row] = defaultdict(_Row)
    texts: list[tuple[str, str]] = []
    strange: set[str] = set()
    for name in names:
        if found := _LAST_NUMBER.fullmatch(name):
            rows[found[1], found[3]].add(found[2])
        elif _PLAIN.fullmatch(name):
            texts.append((name, name))
        else:
            strange.add(name)
    deep = sum(len(row.values) for (before, _), row in rows.items() if _digits(before)) > _SEVERAL
    hard = {key for key, row in rows.items() if (_digits(key[0]) and not deep) or not row.even()}
    for (before, after), row in rows.items():
        if (before, after) not in hard:
            texts.append((f"{before}%s{after}", before + row.text() + after))
    if hard and find_spec("ClusterShell"):
        texts += _by_clustershell([name for name in names if _around(name) in hard])
    elif hard:
        texts += ((name, name) for name in names if _around(name) in hard)
    yield from (text for _, text in sorted(dict.fromkeys(texts), key=lambda pair: pair[0]))
    yield from sorted(strange)


def _around(name: str) -> tuple[str, str] | None:
    found = _LAST_NUMBER.fullmatch(name)
    return (found[1], found[3]) if found else None


def _by_clustershell(names: list[str]) -> Iterator[tuple[str, str]]:
    """What ClusterShell makes of the names, each text with the key that it is ordered by."""
    from ClusterShell.NodeSet import NodeSet

    for part in re.split(r",(?![^\[]*\])", str(NodeSet.fromlist(names))):
        yield re.sub(r"\[[^]]*\]|[0-9]+", "%s", part), part


def _digits(text: str) -> bool:
    return any("0" <= sign <= "9" for sign in text)
