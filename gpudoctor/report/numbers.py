"""Numbers and times as every renderer writes them: 1,000, 89%, and no more digits than matter."""

from collections.abc import Sequence

_SCALES = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


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


def quantity(value: float, unit: str, exact: bool = False) -> str:
    """A number with its unit.

    Args:
        value: the number.
        unit: "bytes", which are scaled; any other is written as it is; "": it has none.
        exact: write all digits, for numbers that differ and would look equal.
    """
    if unit == "bytes" and not exact:
        scale, name = next(((s, n) for s, n in _SCALES if abs(value) >= s), (1, "bytes"))
        return f"{value / scale:.4g} {name}"
    digits = f"{value:,.0f}" if unit == "bytes" else str(value) if exact else f"{value:.6g}"
    return digits + ("%" if unit == "%" else f" {unit}" * bool(unit))


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
