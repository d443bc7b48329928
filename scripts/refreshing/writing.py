"""Writes differences into a table's text, without touching its order and comments."""

import datetime
from collections.abc import Iterable
from typing import Any

import tomlkit

from scripts.refreshing.difference import Difference


def written(text: str, found: Iterable[Difference], today: datetime.date) -> str:
    """The table's text with what was found, collected today."""
    document: Any = tomlkit.parse(text)
    for one in found:
        node = document
        for part in one.path[:-1]:
            node = node[part]
        node[one.path[-1]] = one.found
    document["meta"]["collected"] = today.isoformat()
    return tomlkit.dumps(document)
