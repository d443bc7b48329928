"""The summary as a table: a row a node, for a spreadsheet or a script."""

import csv
from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple

from gpudoctor.fleet.renderers.rows import NodeRow, rows
from gpudoctor.fleet.summary import Fleet

# A cell that begins with one of these is a formula to a spreadsheet, which may run programs:
# https://owasp.org/www-community/attacks/CSV_Injection. The apostrophe before it makes it a text.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def render(fleet: Fleet) -> str:
    """The table with a head; several values of a cell stand with "; " between them."""
    return "".join(pieces(fleet))


def pieces(fleet: Fleet) -> Iterator[str]:
    """The same a line at a time: of a large fleet the whole text needs much memory."""
    line: list[str] = []
    table = csv.writer(_Taker(line.append), lineterminator="\n")
    for row in chain((NodeRow._fields,), ([_cell(value) for value in row] for row in rows(fleet))):
        table.writerow(row)
        yield "".join(line)
        line.clear()


class _Taker(NamedTuple):
    """A file that hands on what is written to it."""

    write: Callable[[str], None]


def _cell(value: str | tuple[str, ...]) -> str:
    text = value if isinstance(value, str) else "; ".join(value)
    return f"'{text}" if text.startswith(_FORMULAS) else text
