"""Which GPU of the one machine is which of the other: numbers shift when a card falls off the bus, or is moved."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from gpudoctor.privacy.uuids import is_number

Entry = dict[str, Any]
# What tells a card from all others, the better one first; MIG devices and partitions share an address.
TELLING = ("uuid", "address")
_NUMBER = re.compile(r"\bGPU (\d+)\b")


def align(here: Entry, there: Entry) -> dict[str, str]:
    """Name the entries about the same GPU alike in two trees of facts or of reports.

    Lists of GPUs and of PCI devices become dictionaries by name, that of the tree here; a GPU that only the other tree
    has keeps its number, with its address where the number means another GPU here.

    Returns:
        What the GPUs there are called here, by their numbers there; empty where numbers are not unique.
    """
    own, given = _aligned(here, there, "gpus", "index")
    _aligned(here, there, "pci", "role")
    cuda = [(tree.get("nvidia") or {}).get("cuda") or {} for tree in (here, there)]
    _aligned(cuda[0], cuda[1], "devices", "index")
    numbers = all(name.isdecimal() for name in (*own, *(here["gpus"] if own else ())))
    renamed = dict(zip(own, given, strict=True)) if numbers else {}
    smoke = there.get("smoke")
    for run in smoke.get("runs", ()) if isinstance(smoke, dict) else smoke or ():
        for field in ("label", "device"):  # in facts, and in a report
            if isinstance(run.get(field), str):
                run[field] = called(run[field], renamed)
    return renamed


def called(text: str, renamed: Mapping[str, str]) -> str:
    """A text about a GPU there, with the GPU's name here."""
    return _NUMBER.sub(lambda match: f"GPU {renamed.get(match[1], match[1])}", text)


def _aligned(here: Entry, there: Entry, field: str, by: str) -> tuple[list[str], list[str]]:
    """Name the entries of a list in both trees; gives the names there, and those that they were given."""
    if not isinstance(here.get(field), (list, tuple)) or not isinstance(there.get(field), (list, tuple)):
        return [], []
    mine, own = _names(here[field], by), _names(there[field], by)
    same = _same(here[field], there[field])
    left = {name: place for place, name in enumerate(mine) if place not in same.values()}
    same |= {place: left[name] for place, name in enumerate(own) if place not in same and name in left}
    given = [
        mine[same[place]] if place in same else _apart(name, there[field][place], mine)
        for place, name in enumerate(own)
    ]
    here[field] = dict(zip(mine, here[field], strict=True))
    there[field] = dict(zip(given, there[field], strict=True))
    return own, given


def _names(entries: Sequence[Entry], by: str) -> list[str]:
    """Numbers as they are, of a second vendor's counted on; devices of the bus by role and number."""
    seen: Counter[str] = Counter()
    names = []
    for entry in entries:
        name = str(entry.get(by))
        seen[name] += 1
        names.append(f"{name} {seen[name]}" if by == "role" or seen[name] > 1 else name)
    return names


def _same(here: Sequence[Entry], there: Sequence[Entry]) -> dict[int, int]:
    """The places there of entries that are here too, with their places here."""
    found: dict[int, int] = {}
    for field in TELLING:
        mine = _unique(here, field, set(found.values()))
        theirs = _unique(there, field, found.keys())
        found |= {place: mine[value] for value, place in theirs.items() if value in mine}
    return found


def _unique(entries: Sequence[Entry], field: str, without: Collection[int]) -> dict[str, int]:
    """The places of the entries that alone have their value."""
    values = [entry.get(field) for entry in entries]
    return {
        value: place
        for place, value in enumerate(values)
        if isinstance(value, str) and values.count(value) == 1 and place not in without and not is_number(value)
    }


def _apart(name: str, entry: Entry, taken: Collection[str]) -> str:
    """A name that means no GPU here."""
    if name not in taken:
        return name
    where = next((entry[field] for field in reversed(TELLING) if isinstance(entry.get(field), str)), "there")
    return f"{name} at {where}"
