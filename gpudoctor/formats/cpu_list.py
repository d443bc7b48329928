"""Reads the kernel's lists of processors: "0-3,8"."""

import re


def processors(text: str) -> frozenset[int]:
    """Return the numbers of a list; empty where it is none."""
    if not re.fullmatch(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*", text):
        return frozenset()
    pairs = (part.partition("-") for part in text.split(","))
    # 8192 is the most that Linux is built for.
    spans = (range(int(first), min(int(last or first), 8191) + 1) for first, _, last in pairs)
    return frozenset(number for span in spans for number in span)
