"""When the minor releases of packages came out, by which of two that do not fit the older one is known."""

from functools import cache

from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.table import KnowledgeTable, load


class ReleaseDates(KnowledgeTable, frozen=True):
    """The table ``release_dates.toml``."""

    released: dict[str, str]


@cache
def release_dates() -> ReleaseDates:
    """Return the table, read once."""
    return load("release_dates", ReleaseDates)


def _rows(name: str) -> list[tuple[tuple[int, ...], str]]:
    """The minor releases of a package, the oldest first, with their days."""
    text = release_dates().released.get(name, "")
    pairs = (part.split() for part in text.split(", ") if part)
    return [(version(minor), day) for minor, day in pairs]


def released(name: str, number: str) -> str:
    """Return the day on which the minor release of a version came out, "2025-08-27"; "" where it is not known.

    Args:
        name: the distribution, normalised.
        number: its version.
    """
    wanted = version(number)
    return next((day for minor, day in reversed(_rows(name)) if minor == wanted[: len(minor)]), "")


def newest_at(name: str, day: str) -> str:
    """Return the newest minor release of a package on a day, "4.47"; "" where the table has none that old."""
    there = [minor for minor, came in _rows(name) if came <= day]
    return ".".join(map(str, max(there))) if there else ""


def first_after(name: str, day: str) -> str:
    """Return the oldest minor release that is newer than all of that day, "4.48"; "" where the table has none."""
    rows = _rows(name)
    there = max((minor for minor, came in rows if came <= day), default=())
    later = [minor for minor, came in rows if came > day and minor > there]
    return ".".join(map(str, min(later))) if later else ""
