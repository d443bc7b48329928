"""Names in tables, of which one `*` stands for anything: "openmm-cuda-*", "jax-cuda*-plugin"."""

from functools import cache


def stands_for(pattern: str, name: str) -> bool:
    """Whether a pattern is a name, or its beginning and end around the `*`.

    Args:
        pattern: the pattern.
        name: the name.
    """
    if "*" not in pattern:
        return name == pattern
    begin, _, end = pattern.partition("*")
    return name.startswith(begin) and name.endswith(end) and len(name) >= len(begin + end)


def any_stands_for(patterns: tuple[str, ...], name: str) -> bool:
    """Whether one of the patterns stands for a name; each is taken apart once only.

    Args:
        patterns: the patterns.
        name: the name.
    """
    plain, starred = _sorted_out(patterns)
    return name in plain or any(stands_for(one, name) for one in starred)


@cache
def _sorted_out(patterns: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
    return frozenset(patterns), tuple(one for one in patterns if "*" in one)
