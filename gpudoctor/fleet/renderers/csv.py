"""The summary as a table: a row a node, for a spreadsheet or a script."""

import csv
import io

from gpudoctor.fleet.renderers.rows import NodeRow, rows
from gpudoctor.fleet.summary import Fleet

# A cell that begins with one of these is a formula to a spreadsheet, which may run programs:
# https://owasp.org/www-community/attacks/CSV_Injection. The apostrophe before it makes it a text.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def render(fleet: Fleet) -> str:
    """The table with a head; several values of a cell stand with "; " between them."""
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\n")
    table.writerow(NodeRow._fields)
    table.writerows([_cell(value) for value in row] for row in rows(fleet))
    return file.getvalue()


def _cell(value: str | tuple[str, ...]) -> str:
    text = value if isinstance(value, str) else "; ".join(value)
    return f"'{text}" if text.startswith(_FORMULAS) else text
