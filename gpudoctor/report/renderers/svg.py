"""Shapes of an SVG picture inside a page: their colours come from the page's style, by class."""

from __future__ import annotations

from markupsafe import Markup, escape

from gpudoctor.report.sanitize import clean

LETTER = 6.1  # width of a letter of 11 pixels, on average


def escaped(words: object) -> Markup:
    """Text that neither HTML nor XML takes for markup, and that turns no terminal and no line."""
    return escape(clean(str(words)))


def text(x: float, y: float, words: str, look: str = "", room: float = 0.0, end: bool = False) -> str:
    """Words at a place; where there is less room than they need they are cut, and shown whole by the pointer.

    Args:
        x: where they begin.
        y: their line.
        words: what is written.
        look: classes of the style.
        room: pixels; 0: as many as they need.
        end: whether x is where they end.
    """
    most = int(room / LETTER) if room else len(words)
    shown, whole = (words, "") if len(words) <= most else (f"{words[: max(0, most - 1)]}…", words)
    title = f"<title>{escaped(whole)}</title>" if whole else ""
    anchor = ' text-anchor="end"' if end else ""
    return f'<text x="{x:g}" y="{y:g}"{_class(look)}{anchor}>{title}{escaped(shown)}</text>'


def box(x: float, y: float, width: float, height: float, look: str = "", round_: float = 5) -> str:
    """A rectangle."""
    return f'<rect x="{x:g}" y="{y:g}" width="{max(0.0, width):g}" height="{height:g}" rx="{round_:g}"{_class(look)}/>'


def line(points: list[tuple[float, float]], look: str = "", thick: float = 1.0) -> str:
    """A line through points."""
    way = " ".join(f"{x:g},{y:g}" for x, y in points)
    return f'<polyline points="{way}" stroke-width="{thick:g}"{_class(look)}/>'


def picture(width: float, height: float, title: str, shapes: list[str], look: str = "") -> Markup:
    """The whole picture, as wide as its place allows; a screen reader says its title."""
    return Markup(  # noqa: S704 - its texts are escaped
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escaped(title)}"{_class(look)}>\n'
        + "\n".join([f"<title>{escaped(title)}</title>", *shapes])
        + "\n</svg>"
    )


def _class(look: str) -> str:
    return f' class="{look}"' if look else ""
