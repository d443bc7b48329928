"""Which known name a misspelt one stands for."""

from collections.abc import Iterable


def nearest(name: str, names: Iterable[str], likeness: float) -> str | None:
    """Return the name that differs least, or None where none is that like it.

    Args:
        name: what somebody wrote.
        names: those that exist.
        likeness: 1.0 is the same name, 0.9 a letter or two among twenty.
    """
    # Imported here: it is wanted for misspelt names alone.
    import difflib

    return next(iter(difflib.get_close_matches(name, names, 1, likeness)), None)
