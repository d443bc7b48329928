"""Reads the kernel's lists of processors: "0-3,8"."""

MOST = 8192  # processors that Linux can be built for (NR_CPUS)


def processors(text: str) -> frozenset[int]:
    """Return the numbers of a list; empty where it is none."""
    pairs = [part.partition("-") for part in text.split(",")]
    if not all(_is_number(first) and (_is_number(last) or not dash) for first, dash, last in pairs):
        return frozenset()
    spans = [range(int(first), min(int(last or first), MOST - 1) + 1) for first, _, last in pairs]
    if sum(map(len, spans)) > MOST:  # the kernel names none twice
        return frozenset()
    return frozenset(number for span in spans for number in span)


def _is_number(text: str) -> bool:
    return text.isdecimal() and text.isascii() and len(text) <= 18
