"""Reads the kernel's lists of processors: "0-3,8"."""

import re


def processors(text: str) -> frozenset[int]:
    """Return the numbers of a list; empty where it is none."""
    if not re.fullmatch(r"[0-9]{1,18}(?:-[0-9]{1,18})?(?:,[0-9]{1,18}(?:-[0-9]{1,18})?)*", text):
        return frozenset()
    pairs = (part.partition("-") for part in text.split(","))
    # 8192 is the most that Linux is built for.
    spans = (range(int(first), min(int(last or first), 8191) + 1) for first, _, last in pairs)
    return frozenset(number for span in spans for number in span)
