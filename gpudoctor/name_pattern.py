"""Names in tables, of which one `*` stands for anything: "openmm-cuda-*", "jax-cuda*-plugin"."""


def stands_for(pattern: str, name: str) -> bool:
    """Whether a pattern is a name, or its beginning and end around the `*`.

    Args:
        pattern: the pattern.
        name: the name.
    """
    begin, star, end = pattern.partition("*")
    return name.startswith(begin) and name.endswith(end) and len(name) >= len(begin + end) if star else name == pattern
