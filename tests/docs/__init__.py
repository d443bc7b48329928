"""The pages that are written by hand: their blocks of code, and a place in which these run."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
GENERATED = {"cli.md"}  # by docs/generate.py, of the parser itself

_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A block of code.

    Attributes:
        page: its page, from the root of the tree.
        line: where its first line stands on the page, from 1.
        language: as the page names it; "": it names none.
        text: what is in it.
    """

    page: str
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        """For the name of a test."""
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    """The pages that are written by hand."""
    return [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").glob("*.md") if p.name not in GENERATED)]


def blocks(*languages: str) -> Iterator[Block]:
    """The blocks in these languages, in the order of a reader."""
    for path in pages():
        text = path.read_text(encoding="utf-8")
        for found in _FENCE.finditer(text):
            if found[2] in languages:
                line = text.count("\n", 0, found.start(3)) + 1
                yield Block(str(path.relative_to(ROOT)), line, found[2], found[3])
