"""Numbers as the kernel writes them, read so that whatever else stands there is no number, and none is too large.

A damaged or hostile file may hold "²", which `str.isdigit` takes and `int` does not, or more digits than `int` reads.
"""

from gpudoctor.lazy_regex import pattern

# What 64 bits hold: the widest field of sysfs, and the widest number that JSON documents are written with.
_MOST = (1 << 64) - 1
_DIGITS = 20  # of that
_HEXADECIMAL = pattern(r"(?:0[xX])?([0-9a-fA-F]{1,16})")
_SECONDS = pattern(r"[0-9]{1,12}(?:\.[0-9]{1,9})?")


def whole(text: str) -> int | None:
    """A decimal number from 0 to 2^64 - 1; None where the text is none."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None
    return number if number is not None and number <= _MOST else None


def signed(text: str) -> int | None:
    """A decimal number from -2^63 to 2^63 - 1; None where the text is none."""
    number = whole(text.removeprefix("-"))
    if number is None or number >> 63:
        return None
    return -number if text.startswith("-") else number


def hexadecimal(text: str) -> int | None:
    """A hexadecimal number of up to 64 bits, with or without 0x; None where the text is none."""
    found = _HEXADECIMAL.fullmatch(text)
    return int(found[1], 16) if found else None


def seconds(text: str) -> float | None:
    """Seconds since boot or between events, with a fraction or without; None where the text is none."""
    return float(text) if _SECONDS.fullmatch(text) else None
