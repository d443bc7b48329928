"""What is found in the words that a launcher leaves behind, whichever it is."""

import re
from collections.abc import Sequence

from gpudoctor.lazy_regex import pattern

NO_PACKAGE = pattern(r"No module named '?gpudoctor'?")


def first(known: "re.Pattern[str]", words: Sequence[str]) -> str:
    """The first line that a pattern is met in; empty: none."""
    return next((line.strip() for line in words if known.search(line.strip())), "")


def last(beside: "re.Pattern[str]", words: Sequence[str]) -> str:
    """The last line, but for those next to the matter; empty: none."""
    return next((line.strip() for line in reversed(words) if not beside.search(line.strip())), "")


def not_started(quoted: str) -> tuple[str, str]:
    """The end of a node on which there is no gpudoctor.

    Args:
        quoted: what was said of it, in brackets, with a blank before them; may be empty.
    """
    return "failed", f"gpudoctor does not start there{quoted}: install it there, or give its command with --with."
