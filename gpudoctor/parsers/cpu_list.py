"""Reads the kernel's lists of processors: "0-3,8"."""

import re

MOST = 8192  # processors that Linux can be built for (NR_CPUS)


def processors(text: str) -> frozenset[int]:
    """Return the numbers of a list; empty where it is none."""
    if not re.fullmatch(r"[0-9]{1,18}(?:-[0-9]{1,18})?(?:,[0-9]{1,18}(?:-[0-9]{1,18})?)*", text):
        return frozenset()
    pairs = (part.partition("-") for part in text.split(","))
    spans = [range(int(first), min(int(last or first), MOST - 1) + 1) for first, _, last in pairs]
    if sum(map(len, spans)) > MOST:  # the kernel names none twice
        return frozenset()
    return frozenset(number for span in spans for number in span)
