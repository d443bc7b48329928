"""Names in tables, of which a last `*` stands for any ending: "openmm-cuda-*"."""


def stands_for(pattern: str, name: str) -> bool:
    """Whether a pattern is a name, or its beginning before the `*`.

    Args:
        pattern: the pattern.
        name: the name.
    """
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
