"""Words for sed's regular expressions: POSIX's basic ones, with what GNU's sed adds for blanks."""

import re


def literal(text: str) -> str:
    """A text that stands for itself between the slashes of an address or of the command s."""
    return re.sub(r"([][\\/.*^$])", r"\\\1", text)


def words(text: str) -> str:
    """These words, whatever blanks there are between them."""
    return r"\s\+".join(literal(word) for word in text.split())
