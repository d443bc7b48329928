"""Whether words stand out from their paper."""


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as a browser writes them: 1 to 21; WCAG 2.2, AA, wants 4.5."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    """Relative luminance, as WCAG defines it, of "rgb(r, g, b)"."""
    parts = [int(part) / 255 for part in colour.strip("rgba() ").split(",")[:3]]
    r, g, b = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
