"""Numbers and times as every renderer writes them: 1,000, 89%, and no more digits than matter."""

from collections.abc import Sequence


def number(value: int) -> str:
    """A number of things."""
    return f"{value:,}"


def amount(value: float) -> str:
    """A measured value; what is tiny or huge, such as the error of a sum, in powers of ten."""
    size = abs(value)
    if not 1e-3 <= size < 1e9:  # 0 too, which has no digits
        return f"{value:.3g}"
    digits = 0 if size >= 1000 else 1 if size >= 10 else 2 if size >= 1 else 3 if size >= 0.1 else 4
    return f"{value:,.{digits}f}"


def spans(numbers: Sequence[int], most: int = 8) -> str:
    """Ascending numbers for people: "3", "0 to 6, 8", "1, 5 and 12 more"."""
    found: list[list[int]] = []
    for one in numbers:
        if found and one == found[-1][1] + 1:
            found[-1][1] = one
        else:
            found.append([one, one])
    texts = [str(a) if a == b else f"{a}, {b}" if b == a + 1 else f"{a} to {b}" for a, b in found]
    return ", ".join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "")


def moment(text: str) -> str:
    """A time as a person reads it: 2026-11-21T03:21:07Z is "2026-11-21 03:21:07 UTC"."""
    return text.replace("T", " ").removesuffix("Z").strip()[:19] + " UTC" if text.endswith("Z") else text
