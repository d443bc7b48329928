"""Where each key of a TOML file stands, which the standard library's parser does not tell."""

from typing import Any

from gpudoctor.toml import tomllib

Keys = tuple[str, ...]


def lines(text: str) -> dict[Keys, list[int]]:
    """The lines of each table's header and of each key, counted from 1.

    A line that looks like one within a text of several lines is taken for one too: it can only misplace a number.
    """
    found: dict[Keys, list[int]] = {}
    table: Keys = ()
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("["):
            if keys := _keys(stripped):
                table = keys
                for depth in range(1, len(keys)):
                    found.setdefault(keys[:depth], [number])
                found.setdefault(table, []).append(number)
        elif "=" in stripped and (keys := _keys(stripped) or _keys(f"{stripped.partition('=')[0]}= 0")):
            for depth in range(1, len(keys) + 1):
                found.setdefault((*table, *keys[:depth]), []).append(number)
    return found


def line_of(where: dict[Keys, list[int]], keys: Keys, nth: int = 0) -> int:
    """The line of a key, else of the nearest table around it.

    Args:
        where: what `lines` gave.
        keys: of the key.
        nth: which of several tables of the same name, as [[NAME]] makes them.
    """
    for depth in range(len(keys), 0, -1):
        if numbers := where.get(keys[:depth]):
            return numbers[min(nth, len(numbers) - 1)]
    return 1


def _keys(line: str) -> Keys:
    """The keys that one line leads to, down to the first that holds a value or several."""
    try:
        node: Any = tomllib.loads(line)
    except (ValueError, RecursionError):
        return ()
    keys: list[str] = []
    while True:
        if isinstance(node, list) and len(node) == 1:
            node = node[0]
        if not isinstance(node, dict) or len(node) != 1:
            return tuple(keys)
        key, node = next(iter(node.items()))
        keys.append(key)
